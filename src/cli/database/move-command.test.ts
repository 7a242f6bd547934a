import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { mkdirSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { FakeWorld } from '../../../test/cli/fake-world.ts'
import { ConflictError, StoreUnavailableError } from '../../errors.ts'
import type { MoveAnswer, MoveOptions } from '../../open-store.ts'
import { openStore } from '../../open-store.ts'

const to = 'postgres://me:hunter2@db.test/ledger'
const shown = 'postgres://me@db.test/ledger'
const answer: MoveAnswer = {
  outcome: 'moved',
  storeId: 'abc',
  movedAt: 0,
  replaced: 0,
  tables: [
    { table: 'audit', rows: 12, sha256: 'a'.repeat(64) },
    { table: 'run', rows: 3, sha256: 'b'.repeat(64) },
  ],
}

let world: FakeWorld
let asked: MoveOptions[]
beforeEach(() => {
  world = new FakeWorld()
  asked = []
  mkdirSync(join(world.cwd, 'data'), { mode: 0o700 })
  writeFileSync(join(world.cwd, 'data', 'holdfast.db'), '')
  world.moveStore = async (options) => {
    asked.push(options)
    return answer
  }
  world.undoMove = async () => ({ outcome: 'undone', storeId: 'abc' })
})

const fails = (error: Error): void => {
  world.moveStore = (options) => {
    options.onProgress?.({ what: 'begun' })
    return Promise.reject(error)
  }
}

describe('holdfast move', () => {
  test('prints what was copied, and says how to go on', async () => {
    writeFileSync(join(world.cwd, 'data', 'admin-token'), 'secret')
    expect(await world.run('move', '--to', to)).toBe(0)
    const path = join(world.cwd, 'data', 'holdfast.db')
    expect(asked).toMatchObject([{ path, url: to, to: shown }])
    expect(world.stdout).toBe(
      `table\trows\tsha256\naudit\t12\t${'a'.repeat(64)}\nrun\t3\t${'b'.repeat(64)}\n`,
    )
    expect(world.stderr).toContain(`Moved 15 rows in 2 tables from sqlite:${path} to ${shown}.`)
    const token = `HOLDFAST_ADMIN_TOKEN_FILE=${join(world.cwd, 'data', 'admin-token')}`
    expect(world.stderr).toContain(`HOLDFAST_DATABASE_URL=${shown} ${token} holdfast serve`)
    expect(world.stdout + world.stderr).not.toMatch(/hunter2|NUL/)
  })

  test('prints one object with --json, also when it was moved before', async () => {
    world.moveStore = async () => ({ ...answer, outcome: 'already' })
    expect(await world.run('move', '--to', to, '--json')).toBe(0)
    expect(JSON.parse(world.stdout)).toEqual({
      outcome: 'already',
      from: `sqlite:${join(world.cwd, 'data', 'holdfast.db')}`,
      to: shown,
      store_id: 'abc',
      moved_at: '1970-01-01T00:00:00.000Z',
      rows: 15,
      replaced: 0,
      tables: answer.tables,
    })
  })

  test('says that texts were changed', async () => {
    world.moveStore = async () => ({ ...answer, replaced: 2 })
    await world.run('move', '--to', to)
    expect(world.stderr).toContain('In 2 texts their NULs are now U+FFFD.')
  })

  test('shows progress on a terminal alone', async () => {
    world.moveStore = async ({ onProgress }) => {
      onProgress?.({ what: 'copying', table: 'run', rows: 2, of: 3 })
      onProgress?.({ what: 'verifying', table: 'run', rows: 3, of: 3 })
      return answer
    }
    await world.run('move', '--to', to)
    expect(world.stderr).not.toContain('Copying')
    world.terminal.watched = true
    await world.run('move', '--to', to)
    expect(world.stderr).toContain('Copying run … 2 of 3 rows')
    expect(world.stderr).toContain('Comparing run … 3 of 3 rows')
  })

  test('--undo takes it back', async () => {
    expect(await world.run('move', '--to', to, '--undo')).toBe(0)
    expect(world.stderr).toMatch(/^Undone: the copy in postgres:\/\/me@db.test\/ledger was removed/)
    world.undoMove = async () => ({ outcome: 'nothing', storeId: 'abc' })
    expect(await world.run('move', '--to', to, '--undo', '--json')).toBe(0)
    expect(JSON.parse(world.stdout)).toMatchObject({ outcome: 'nothing', to: shown })
  })
})

describe('wrong usage has its own exit code', () => {
  test.each([
    [['move'], '--to is missing'],
    [['move', '--', '--too'], '--to is missing'],
    [['move', '--too', to], 'Unknown option "--too". Did you mean "--to"?'],
    [['move', '--to', 'sqlite:other.db'], '--to names a SQLite file'],
    [
      ['move', '--to', 'mysql://hunter2@db/x'],
      '--to is not the address of a PostgreSQL database. A store is moved',
    ],
    [['move', '--to', to, '--database-url', to], 'only a SQLite store can be moved'],
    [['move', '--to', to, '--database-url', 'sqlite::memory:'], 'A database in memory'],
  ])('%s', async (argv, text) => {
    expect(await world.run(...argv)).toBe(2)
    expect(world.stderr).toContain(text)
    expect(world.stderr).not.toContain('hunter2')
    expect(asked).toEqual([])
  })
})

describe('a failure', () => {
  test('because there is no SQLite file is exit 3', async () => {
    expect(await world.run('move', '--to', to, '--data-dir', 'other')).toBe(3)
    expect(world.stderr).toContain('There is no database at')
  })

  test('because the target went away is exit 3, and says how to go on', async () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    fails(
      new StoreUnavailableError('store_unreachable', 'the database cannot be reached', { cause }),
    )
    expect(await world.run('move', '--to', to)).toBe(3)
    expect(world.stderr).toContain('No server listens at db.test:5432')
    expect(world.stderr).toContain('Check --to. Then run this command again: it continues')
  })

  test('because the target asks for a password names a safe place for it', async () => {
    const cause = new Error('SASL: client password must be a string')
    fails(
      new StoreUnavailableError('store_unreachable', 'the database cannot be reached', { cause }),
    )
    expect(await world.run('move', '--to', shown)).toBe(3)
    expect(world.stderr).toContain('Put it into PGPASSWORD or ~/.pgpass')
  })

  test('because it is refused is exit 1 with the remedy', async () => {
    fails(
      new ConflictError('target_not_empty', 'the target is not empty', { hint: 'Use another.' }),
    )
    expect(await world.run('move', '--to', to)).toBe(1)
    expect(world.stderr).toBe('holdfast: The target is not empty\n  Use another.\n')
  })
})

test('a command on a store that was moved names the new place, and exits with 1', async () => {
  const moved = new FakeWorld()
  moved.openStore = (settings, options) => openStore(settings, options)
  expect(await moved.run('token', 'create', '--scope', 'read')).toBe(0)
  const db = new DatabaseSync(join(moved.cwd, 'data', 'holdfast.db'))
  const mark = JSON.stringify({ move: 'm', to: shown, at: 0 })
  db.prepare("INSERT INTO store_state (key, value) VALUES ('moved_to', ?)").run(mark)
  db.close()
  for (const argv of [['runs'], ['keys'], ['purge'], ['migrate'], ['token', 'list']]) {
    moved.stderr = ''
    expect(await moved.run(...argv), argv.join()).toBe(1)
    expect(moved.stderr).toContain(
      `holdfast: This store was moved to ${shown} at 1970-01-01T00:00:00.000Z\n` +
        '  Set HOLDFAST_DATABASE_URL to that database.',
    )
  }
})
