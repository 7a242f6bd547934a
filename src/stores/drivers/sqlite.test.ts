/**
 * The group commit of the SQLite driver on a real file: what shares a commit, what a failure
 * affects, and what a full disk, a busy file and a failing COMMIT lead to.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../clock.ts'
import { ConflictError, StoreUnavailableError } from '../../errors.ts'
import { systemRandom } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import { systemScheduler } from '../../scheduler.ts'
import { LostRace } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { openFile } from './sqlite-file.ts'
import { SqliteDriver } from './sqlite.ts'

let folder: string
let path: string
let writer: DatabaseSync
let driver: SqliteDriver
/** Every transaction statement the driver ran, in order. */
let ran: string[]
/** What was reported about verbs that met others. */
let repeats: string[]
/** Thrown by the next COMMIT instead of running it. */
let commitFails: Error[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  path = join(folder, 'ledger.db')
  ran = []
  repeats = []
  commitFails = []
  driver = openDriver()
})
afterEach(async () => {
  await driver.close()
  rmSync(folder, { recursive: true })
})

function openDriver(machine: { scheduler?: Scheduler; monotonicMs?: () => number } = {}) {
  const makeTable = (db: DatabaseSync): void =>
    db.exec(`CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT UNIQUE) STRICT;
      CREATE TABLE IF NOT EXISTS plain (text TEXT) STRICT`)
  const file = openFile(path, false, makeTable, systemRandom)
  writer = file.writer
  watchTransactions(writer)
  return new SqliteDriver({
    writer,
    reader: file.reader,
    onClose: file.release,
    onRepeat: (what) => void repeats.push(what),
    scheduler: machine.scheduler ?? systemScheduler,
    clock: {
      ...systemClock,
      monotonicMs: machine.monotonicMs ?? (() => systemClock.monotonicMs()),
    },
  })
}

function watchTransactions(db: DatabaseSync): void {
  const prepare = db.prepare.bind(db)
  db.prepare = (text) => {
    const statement = prepare(text)
    if (!/^(BEGIN|COMMIT|ROLLBACK)/.test(text)) return statement
    const run = statement.run.bind(statement)
    statement.run = () => {
      ran.push(text)
      const failure = text === 'COMMIT' ? commitFails.shift() : undefined
      if (failure !== undefined) throw failure
      return run()
    }
    return statement
  }
}

const commits = (): number => ran.filter((text) => text === 'COMMIT').length

const add = (text: string) =>
  function* (): Verb<number> {
    const [row] = yield sql`INSERT INTO note (text) VALUES (${text}) RETURNING id`
    return row?.['id'] as number
  }

const texts = () =>
  driver.read(function* () {
    return (yield raw('SELECT text FROM note ORDER BY id')).map((row) => row['text'])
  })

/** Starts with the size, so that two long texts differ. */
const long = (bytes: number): string => `${bytes} `.padEnd(bytes, 'x')

const pragma = (text: string) =>
  driver.transact(function* () {
    const [row] = yield raw(`PRAGMA ${text}`)
    return Object.values(row ?? {})[0]
  })

const codeOf = (settled: PromiseSettledResult<unknown>): unknown => {
  if (settled.status === 'fulfilled') return 'done'
  const error: unknown = settled.reason
  return error instanceof StoreUnavailableError ? error.code : error
}

const refusal = () => new ConflictError('not_active', 'no')

describe('a group', () => {
  it('shares one commit', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, i) => driver.transact(add(`n${i}`))))
    expect(commits()).toBe(1)
    expect(await texts()).toHaveLength(50)
  })

  it('ends with the turn of the event loop, and at 256 members', async () => {
    await driver.transact(add('first'))
    await driver.transact(add('second'))
    expect(commits()).toBe(2)
    await Promise.all(Array.from({ length: 300 }, (_, i) => driver.transact(add(`n${i}`))))
    expect(commits()).toBe(4)
  })

  it('answers no member before its commit, not even a member that failed', async () => {
    const log: string[] = []
    const noted = (name: string) => () => log.push(`${name} answered after ${commits()}`)
    const failing = driver.transact(function* () {
      throw refusal()
    })
    const group = [driver.transact(add('a')).then(noted('a')), failing.catch(noted('failing'))]
    expect(ran).toEqual([])
    await Promise.all(group)
    expect(log.toSorted()).toEqual(['a answered after 1', 'failing answered after 1'])
  })

  it('undoes only the member that fails, wherever it fails', async () => {
    const midway = function* (): Verb<void> {
      yield* add('half done')()
      throw refusal()
    }
    const badStatement = function* (): Verb<void> {
      yield* add('half done')()
      yield raw('SELECT nothing FROM nowhere')
    }
    const settled = await Promise.allSettled([
      driver.transact(add('a')),
      driver.transact(midway),
      driver.transact(add('b')),
      driver.transact(add('a')),
      driver.transact(badStatement),
      driver.transact(add('c')),
    ])
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(settled[1]).toMatchObject({ reason: { code: 'not_active' } })
    expect(await texts()).toEqual(['a', 'b', 'c'])
    expect(commits()).toBe(1)
  })

  it('lets a member see what the members before it wrote', async () => {
    const [, seen] = await Promise.all([
      driver.transact(add('a')),
      driver.transact(function* () {
        return (yield raw('SELECT text FROM note')).length
      }),
    ])
    expect(seen).toBe(1)
  })

  it('repeats a member that lost a race from its start, but not forever', async () => {
    let tries = 0
    const unlucky = (winsAt: number) =>
      function* (): Verb<number> {
        tries++
        const id = yield* add(`wins at ${winsAt}`)()
        if (tries < winsAt) throw new LostRace('somebody was faster')
        return id
      }
    const [, id] = await Promise.all([driver.transact(add('a')), driver.transact(unlucky(3))])
    expect(id).toBe(2)
    expect(tries).toBe(3)
    await expect(driver.transact(unlucky(Infinity))).rejects.toMatchObject({
      code: 'store_contended',
      message: expect.stringContaining('somebody was faster') as string,
    })
    expect(repeats).toEqual([...Array.from({ length: 6 }, () => 'again'), 'given_up'])
    expect(await texts()).toEqual(['a', 'wins at 3'])
  })
})

describe('a COMMIT that fails', () => {
  const ioError = () => Object.assign(new Error('disk I/O error'), { errcode: 10 })

  it('rolls the group back and runs every member again alone, from its start', async () => {
    commitFails = [ioError()]
    const runs: string[] = []
    const counted = (text: string) => () => {
      runs.push(text)
      return add(text)()
    }
    const group = ['a', 'b', 'c'].map((text) => driver.transact(counted(text)))
    expect(await Promise.all(group)).toEqual([1, 2, 3])
    expect(runs).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
    expect(commits()).toBe(4)
    expect(await texts()).toEqual(['a', 'b', 'c'])
  })

  it('fails only those whose own COMMIT fails too', async () => {
    commitFails = [ioError(), ioError()]
    const group = ['a', 'b', 'c'].map((text) => driver.transact(add(text)))
    const settled = await Promise.allSettled(group)
    expect(settled.map(codeOf)).toEqual(['store_unwritable', 'done', 'done'])
    expect(await texts()).toEqual(['b', 'c'])
  })
})

describe('a full disk inside a group', () => {
  const allowPages = async (more: number): Promise<void> => {
    const pages = Number(await pragma('page_count'))
    await pragma(`max_page_count = ${pages + more}`)
  }

  it('keeps what fits, refuses the rest, and works again when there is room', async () => {
    await driver.transact(add('before'))
    await allowPages(4)
    const group = ['a', long(100_000), 'b', long(200_000), long(5000), 'c']
    const settled = await Promise.allSettled(group.map((text) => driver.transact(add(text))))
    const codes = ['done', 'store_full', 'done', 'store_full', 'done', 'done']
    expect(settled.map(codeOf)).toEqual(codes)
    expect(await texts()).toEqual(['before', 'a', 'b', long(5000), 'c'])
    await allowPages(1000)
    await driver.transact(add(long(100_000)))
    expect(await texts()).toHaveLength(6)
    expect(await pragma('integrity_check')).toBe('ok')
  })

  it('does the same when SQLite ends the whole transaction by itself', async () => {
    await driver.transact(add('before'))
    await allowPages(4)
    let runsOfA = 0
    // A statement that can only fail like this has no journal of its own to roll back to.
    const tooMuch = function* (): Verb<void> {
      yield sql`INSERT INTO plain VALUES (${long(100_000)})`
    }
    const settled = await Promise.allSettled([
      driver.transact(() => {
        runsOfA++
        return add('a')()
      }),
      driver.transact(tooMuch),
      driver.transact(add('b')),
    ])
    expect(settled.map(codeOf)).toEqual(['done', 'store_full', 'done'])
    expect(runsOfA).toBe(2)
    expect(ran.filter((text) => text.startsWith('ROLLBACK'))).toEqual([])
    expect(await texts()).toEqual(['before', 'a', 'b'])
  })
})

describe('a file that another writer holds', () => {
  let other: DatabaseSync
  const holdFile = (): void => {
    other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
  }
  afterEach(() => {
    if (other.isOpen) other.close()
  })

  it('is waited for without stopping the event loop for long, and then written', async () => {
    holdFile()
    let done = false
    const waiting = driver.transact(add('late')).then(() => (done = true))
    let longestMs = 0
    for (let turn = 0; turn < 10; turn++) {
      const before = performance.now()
      await new Promise((resolve) => setTimeout(resolve, 5))
      longestMs = Math.max(longestMs, performance.now() - before)
    }
    expect(done).toBe(false)
    // A wait inside SQLite would stop it for up to ten seconds.
    expect(longestMs).toBeLessThan(2000)
    other.exec('COMMIT')
    await waiting
    expect(await texts()).toEqual(['late'])
  })

  it('can be read meanwhile', async () => {
    await driver.transact(add('a'))
    holdFile()
    other.exec(`INSERT INTO note (text) VALUES ('not committed')`)
    expect(await texts()).toEqual(['a'])
    await driver.ping()
  })

  it('is given up after ten seconds, and the next write tries again', async () => {
    await driver.close()
    let nowMs = 0
    const timers: { ms: number; task: () => void }[] = []
    const manual: Scheduler = {
      ...systemScheduler,
      after: (ms, task) => {
        timers.push({ ms, task })
        return () => undefined
      },
    }
    driver = openDriver({ scheduler: manual, monotonicMs: () => nowMs })
    holdFile()
    const refused = expect(driver.transact(add('never'))).rejects.toMatchObject({
      code: 'store_busy',
    })
    while (timers.length === 0) await nextTurn()
    for (let timer = timers.shift(); timer !== undefined; timer = timers.shift()) {
      nowMs += Math.max(timer.ms, 2500)
      timer.task()
    }
    await refused
    expect(nowMs).toBe(10_000)
    other.exec('COMMIT')
    await driver.transact(add('after'))
    expect(await texts()).toEqual(['after'])
  })

  it('delays closing until what was accepted is committed', async () => {
    holdFile()
    const accepted = driver.transact(add('accepted'))
    const closed = driver.close()
    await new Promise((resolve) => setTimeout(resolve, 20))
    other.exec('COMMIT')
    await Promise.all([accepted, closed, driver.close()])
    expect(other.prepare('SELECT text FROM note').all()).toMatchObject([{ text: 'accepted' }])
  })
})

describe('closing', () => {
  it('commits everything that was accepted, however much, and then refuses', async () => {
    const accepted = Array.from({ length: 600 }, (_, i) => driver.transact(add(`n${i}`)))
    await driver.close()
    await Promise.all(accepted)
    await expect(driver.transact(add('late'))).rejects.toMatchObject({ code: 'store_closed' })
    await expect(texts()).rejects.toMatchObject({ code: 'store_closed' })
    driver = openDriver()
    expect(await texts()).toHaveLength(600)
  })

  it('may be called twice', async () => {
    const accepted = driver.transact(add('a'))
    await Promise.all([driver.close(), driver.close(), accepted])
    await driver.close()
  })
})

describe('reads', () => {
  it('see what is committed, but not what is only queued', async () => {
    const queued = driver.transact(add('a'))
    expect(await texts()).toEqual([])
    await queued
    expect(await texts()).toEqual(['a'])
  })

  it('cannot write', async () => {
    await expect(driver.read(add('a'))).rejects.toMatchObject({ code: 'store_unwritable' })
  })
})

it('commits are synced to disk in full, through a write-ahead log', async () => {
  expect(await pragma('journal_mode')).toBe('wal')
  expect(await pragma('synchronous')).toBe(2)
  expect(await pragma('temp_store')).toBe(2)
})
