/**
 * A program: makes sure that Redis' server program is on this machine. As root on Debian it
 * installs the distribution's package. Anywhere else it prints the command that would install it,
 * and fails.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { aptGet, mayInstall, onThisMachine } from '../machine-packages.ts'
import { findRedisServer, oldestVersion } from './binaries.ts'

/** The command a person would type on this kind of machine. */
export function installCommand(platform: NodeJS.Platform, hasProgram: (name: string) => boolean) {
  if (platform === 'darwin') return 'brew install redis'
  if (hasProgram('apt-get')) return 'sudo apt-get install -y redis-server'
  if (hasProgram('dnf')) return 'sudo dnf install -y redis'
  if (hasProgram('apk')) return 'sudo apk add redis'
  if (hasProgram('pacman')) return 'sudo pacman -S redis'
  return 'see https://redis.io/docs/latest/operate/oss_and_stack/install/'
}

/** Debian asks this program whether it may start a service. */
const servicePolicy = '/usr/sbin/policy-rc.d'

function installOnDebian(): void {
  console.error('Redis is not installed; installing the Debian package for the tests')
  // The package would start a server of its own, which the tests do not need.
  const hasPolicy = existsSync(servicePolicy)
  if (!hasPolicy) writeFileSync(servicePolicy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    aptGet('update')
    aptGet('install', '-y', '--no-install-recommends', 'redis-server')
  } finally {
    if (!hasPolicy) rmSync(servicePolicy)
  }
}

function main(): void {
  if (findRedisServer() !== null) return
  if (mayInstall()) installOnDebian()
  if (findRedisServer() !== null) return
  console.error(
    `The tests start a private Redis, version ${oldestVersion} or newer, and none is installed.\n` +
      `Install it with: ${installCommand(process.platform, onThisMachine)}`,
  )
  process.exitCode = 1
}

if (import.meta.main) main()
