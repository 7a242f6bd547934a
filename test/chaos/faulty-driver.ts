/**
 * Database drivers with faults. `withAborts` aborts transactions at random, as a busy database
 * does; the store must retry them. `withoutLocks` removes what claims rely on, the subject's lock
 * and the compare-and-set of runs; the checks of the storm test must then find a violation.
 * `withCut` cuts one transaction off, as a crash would; `withLostRace` makes one transaction run
 * again. `withGates` lets a test hold a statement back. `withMishap` treats a commit as done that
 * was rolled back, or repeats one that was done: both are wrong, and a test of lost commits must
 * notice it.
 */
import type { Random } from '../../src/random.ts'
import type { Driver } from '../../src/stores/driver.ts'
import { LostRace } from '../../src/stores/driver.ts'
import type { AnswerForm, Row, Sql, Verb } from '../../src/stores/sql.ts'
import { InsertRows, raw, sql, Sql as Statement, tuples } from '../../src/stores/sql.ts'

type Step = (statement: Sql) => Generator<Sql, readonly Row[], readonly Row[]>

function wrapVerbs(driver: Driver, makeStep: () => Step): Driver {
  function* wrapped<T>(verb: Verb<T>): Verb<T> {
    const step = makeStep()
    let result = verb.next()
    while (result.done !== true) result = verb.next(yield* step(result.value))
    return result.value
  }
  return {
    dialect: driver.dialect,
    now: () => driver.now(),
    transact: (makeVerb) => driver.transact(() => wrapped(makeVerb())),
    read: (makeVerb) => driver.read(makeVerb),
    ping: () => driver.ping(),
    close: () => driver.close(),
  }
}

/** One transaction in twenty fails at one of its statements, before or after it. */
export function withAborts(driver: Driver, random: Random): Driver {
  return wrapVerbs(driver, () => {
    let left = random.below(20) === 0 ? random.below(16) : Infinity
    const mayFail = (): void => {
      if (left-- === 0) throw new LostRace('a made-up abort')
    }
    return function* (statement) {
      mayFail()
      const rows = yield statement
      mayFail()
      return rows
    }
  })
}

const subjectColumns = /RETURNING ([\s\S]*)$/
const lockOfMany = /^INSERT INTO subject \(id, type, scope, name, created_at, touched_at\)$/
const lockOfOne = /^UPDATE subject SET touched_at = \? WHERE id = \?/
const writeOfRun = /^UPDATE run SET/
const comparison = /\s+AND rev = \?$/

export function withoutLocks(driver: Driver): Driver {
  const unlocked = wrapVerbs(driver, () => stripped)
  return { ...unlocked, dialect: { ...driver.dialect, lockFree: () => raw('') } }
}

function* stripped(statement: Sql): Generator<Sql, readonly Row[], readonly Row[]> {
  const { text, params, answer } = statement
  if (statement instanceof InsertRows && lockOfMany.test(text)) {
    yield new InsertRows(statement, statement.rows, raw('ON CONFLICT DO NOTHING'))
    const names = statement.rows.map(([, type, scope, name]) => {
      return [scope ?? null, name ?? null, type ?? null]
    })
    const all = raw(subjectColumns.exec(statement.rest.text)?.[1] ?? '')
    return yield* selected(
      sql`SELECT ${all} FROM subject WHERE (scope, name, type) IN (VALUES ${tuples(names)})`,
      answer,
    )
  }
  const columns = raw(subjectColumns.exec(text)?.[1] ?? '')
  if (lockOfOne.test(text)) {
    return yield* selected(
      sql`SELECT ${columns} FROM subject WHERE id = ${params[1] ?? null}`,
      answer,
    )
  }
  if (!writeOfRun.test(text)) return yield statement
  return yield new Statement(text.replace(comparison, ''), params.slice(0, -1), answer)
}

/** With the answer in the form that was asked for. */
function* selected(
  { text, params }: Sql,
  answer: AnswerForm,
): Generator<Sql, readonly Row[], readonly Row[]> {
  return yield new Statement(text, params, answer)
}

/** Fails at the statement that `cut` counts down to; a countdown below zero fails nothing. */
export function withCut(driver: Driver, cut: { left: number }): Driver {
  return wrapVerbs(
    driver,
    () =>
      function* (statement) {
        if (cut.left-- === 0) throw new Error('a made-up cut')
        return yield statement
      },
  )
}

/** The same, but as a lost race: the driver runs the verb again by itself. */
export function withLostRace(driver: Driver, race: { left: number }): Driver {
  return wrapVerbs(
    driver,
    () =>
      function* (statement) {
        const rows = yield statement
        if (race.left-- === 0) throw new LostRace('a made-up race')
        return rows
      },
  )
}

/** Waits for a PostgreSQL advisory lock before each statement that fits, so a test can hold it. */
export function withGates(driver: Driver, gates: readonly (readonly [RegExp, number])[]): Driver {
  return wrapVerbs(
    driver,
    () =>
      function* (statement) {
        for (const [pattern, lock] of gates) {
          if (pattern.test(statement.text)) yield sql`SELECT pg_advisory_xact_lock(${lock})::text`
        }
        return yield statement
      },
  )
}

export type Mishap = 'believed' | 'repeated'

/** What happens to the next transaction, and to no other. */
export function withMishap(driver: Driver, mishap: { next: Mishap | null }): Driver {
  const sound = wrapVerbs(driver, () => passed)
  return {
    ...sound,
    transact: async (makeVerb) => {
      const { next } = mishap
      mishap.next = null
      if (next === 'believed') return await believed(sound, makeVerb)
      if (next === 'repeated') await sound.transact(makeVerb)
      return await sound.transact(makeVerb)
    },
  }
}

function* passed(statement: Sql): Generator<Sql, readonly Row[], readonly Row[]> {
  return yield statement
}

async function believed<T>(driver: Driver, makeVerb: () => Verb<T>): Promise<T> {
  const kept: T[] = []
  const rollBack = new Error('rolled back, and nobody hears of it')
  const doomed = function* (): Verb<never> {
    kept.push(yield* makeVerb())
    throw rollBack
  }
  await driver.transact(doomed).catch((error: unknown) => {
    if (error !== rollBack) throw error
  })
  return kept.at(-1) as T
}
