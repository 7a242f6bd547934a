/**
 * Goal: the right server program is found, or the right remedy is named.
 * Method: fake folders with programs that only print their version.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { findRedisServer } from './binaries.ts'
import { installCommand } from './install-binaries.ts'

let folders: string[]
beforeEach(() => {
  folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'holdfast-binaries-')))
})
afterEach(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

function server(at: 0 | 1, version: string): void {
  const output = `Redis server v=${version} sha=00000000:0 malloc=jemalloc-5.3.0 bits=64`
  const file = join(folders[at]!, 'redis-server')
  writeFileSync(file, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 })
}

it('the server program is found on the PATH', () => {
  server(1, '7.0.15')
  const path = ['', ...folders].join(delimiter)
  expect(findRedisServer(path)).toBe(join(folders[1]!, 'redis-server'))
})

it('one that is too old is passed over', () => {
  server(0, '6.0.16')
  expect(findRedisServer(folders.join(delimiter))).toBeNull()
  server(1, '6.2.0')
  expect(findRedisServer(folders.join(delimiter))).toBe(join(folders[1]!, 'redis-server'))
})

it.each([
  ['apt-get', 'sudo apt-get install -y redis-server'],
  ['dnf', 'sudo dnf install -y redis'],
  ['nothing', 'see https://redis.io/docs/latest/operate/oss_and_stack/install/'],
])('a machine with %s gets the remedy: %s', (has, command) => {
  expect(installCommand('linux', (name) => name === has)).toBe(command)
})
