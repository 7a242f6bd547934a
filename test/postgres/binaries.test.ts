/**
 * Goal: the right server programs are found, or the right remedy is named.
 * Method: fake folders with programs that only print their version.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findBinaries } from './binaries.ts'
import { installCommand } from './install-binaries.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-binaries-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function program(path: string, output: string): void {
  const file = join(folder, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 })
}

function server(path: string, major: number): void {
  program(`${path}/postgres`, `postgres (PostgreSQL) ${major}.4 (Some Linux)`)
  program(`${path}/initdb`, '')
}

const find = (path = '') =>
  findBinaries({ versionsDir: join(folder, 'versions'), path: path && join(folder, path) })

describe('the server programs', () => {
  it('are those of the newest version', () => {
    server('versions/9/bin', 9)
    server('versions/15/bin', 15)
    server('versions/16/bin', 16)
    expect(find()).toBe(join(folder, 'versions/16/bin'))
  })

  it('are not found when the version is too old or the server is missing', () => {
    server('versions/14/bin', 14)
    program('versions/17/bin/psql', '')
    expect(find()).toBeNull()
  })

  it('are found in the folder that pg_config names', () => {
    server('elsewhere', 17)
    program('path/pg_config', join(folder, 'elsewhere'))
    expect(find('path')).toBe(join(folder, 'elsewhere'))
  })

  it('are found on the PATH', () => {
    server('path', 17)
    expect(find('path')).toBe(join(folder, 'path'))
  })
})

it.each([
  ['apt-get', 'sudo apt-get install -y postgresql'],
  ['dnf', 'sudo dnf install -y postgresql-server'],
  ['nothing', 'see https://www.postgresql.org/download/'],
])('a machine with %s gets the remedy: %s', (has, command) => {
  expect(installCommand('linux', (name) => name === has)).toBe(command)
})
