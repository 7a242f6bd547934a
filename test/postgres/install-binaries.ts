/**
 * A program: makes sure that PostgreSQL's server programs are on this machine. As root on Debian it
 * installs the distribution's package. Anywhere else it prints the command that would install it,
 * and fails, because installing system software is the owner's decision.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { aptGet, mayInstall, onThisMachine } from '../machine-packages.ts'
import { findBinaries, oldestSupportedMajor } from './binaries.ts'

/** The command a person would type on this kind of machine. */
export function installCommand(platform: NodeJS.Platform, hasProgram: (name: string) => boolean) {
  if (platform === 'darwin') return 'brew install postgresql@17'
  if (hasProgram('apt-get')) return 'sudo apt-get install -y postgresql'
  if (hasProgram('dnf')) return 'sudo dnf install -y postgresql-server'
  if (hasProgram('apk')) return 'sudo apk add postgresql'
  if (hasProgram('pacman')) return 'sudo pacman -S postgresql'
  return 'see https://www.postgresql.org/download/'
}

/** The Debian package would create and start its own cluster, which the tests do not need. */
function refuseDebianCluster(): void {
  mkdirSync('/etc/postgresql-common', { recursive: true })
  appendFileSync('/etc/postgresql-common/createcluster.conf', '\ncreate_main_cluster = false\n')
}

function installOnDebian(): void {
  console.error('PostgreSQL is not installed; installing the Debian package for the tests')
  refuseDebianCluster()
  aptGet('update')
  // Without this option dpkg would stop and ask about the configuration file that we wrote.
  aptGet(
    'install',
    '-y',
    '--no-install-recommends',
    '-o',
    'Dpkg::Options::=--force-confold',
    'postgresql',
  )
}

function main(): void {
  if (findBinaries() !== null) return
  if (mayInstall()) installOnDebian()
  if (findBinaries() !== null) return
  console.error(
    `The tests start a private PostgreSQL, version ${oldestSupportedMajor} or newer, and none is ` +
      `installed.\nInstall it with: ${installCommand(process.platform, onThisMachine)}`,
  )
  process.exitCode = 1
}

if (import.meta.main) main()
