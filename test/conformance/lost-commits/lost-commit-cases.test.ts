/**
 * Goal: the cases of lost commits can fail, and none is missing.
 * Method: each case runs in a fresh store whose driver is wrong on purpose: it treats a commit as
 * done that was rolled back, or repeats one that was done. The outcome must differ from the
 * undisturbed one, except where repeating is harmless by design. Every verb of an open store must
 * be a case, or a read that begins no transaction.
 */
import { describe, expect, it } from 'vitest'
import type { Store } from '../../../src/store.ts'
import type { Driver } from '../../../src/stores/driver.ts'
import { openPostgresDriver } from '../../../src/stores/open-postgres.ts'
import { openSqliteDriver } from '../../../src/stores/open-sqlite.ts'
import { raw, type Row, type Verb } from '../../../src/stores/sql.ts'
import { SqlStore } from '../../../src/stores/sql-store/sql-store.ts'
import { withMishap, type Mishap } from '../../chaos/faulty-driver.ts'
import { migratedDatabase } from '../../postgres/fresh-database.ts'
import { harmlessTwice } from './harmless-twice.ts'
import { allScenarios } from './lost-commit-verbs.ts'
import { reads } from './store-reads.ts'
import { outcomeOf, type Outcome, type Scenario } from './verb-outcome.ts'
import { machineWith, TestClock } from '../world.ts'

const machine = machineWith(new TestClock())
const openMemory = () => openSqliteDriver({ path: ':memory:', exclusive: true }, machine)

async function outcomeOn(
  driver: Driver,
  next: Mishap | null,
  scenario: Scenario,
): Promise<Outcome | Error> {
  const mishap: { next: Mishap | null } = { next: null }
  const store = new SqlStore(withMishap(driver, mishap), machine)
  const ask = async <T>(verb: () => Promise<T>): Promise<T> => {
    mishap.next = next
    return await verb()
  }
  const query = (text: string) => driver.transact(() => asked(text))
  const outcome = await outcomeOf(scenario, store, ask, query).catch((error: unknown) =>
    error instanceof Error ? error : new Error(String(error)),
  )
  await store.close()
  if (mishap.next !== null) throw new Error('the verb began no transaction')
  return outcome
}

function* asked(statement: string): Verb<readonly Row[]> {
  return yield raw(statement)
}

async function outcomeWith(
  next: Mishap | null,
  [name, scenario]: readonly [string, Scenario],
): Promise<Outcome | Error> {
  if (name !== 'audit.number') return await outcomeOn(openMemory(), next, scenario)
  // SQLite has one writer, so its rows are already in order.
  const database = await migratedDatabase()
  const driver = await openPostgresDriver(database.url, machine)
  return await outcomeOn(driver, next, scenario).finally(() => database.drop())
}

describe.each(allScenarios)('the case of %s', (name, scenario) => {
  it('notices that its commit was rolled back', async () => {
    const whole = await outcomeWith(null, [name, scenario])
    expect(whole).not.toBeInstanceOf(Error)
    expect(await outcomeWith('believed', [name, scenario])).not.toEqual(whole)
  })

  it(name in harmlessTwice ? 'is harmless twice' : 'sees that it was done twice', async () => {
    const whole = await outcomeWith(null, [name, scenario])
    const twice = await outcomeWith('repeated', [name, scenario])
    if (name in harmlessTwice) expect(twice).toEqual(whole)
    else expect(twice).not.toEqual(whole)
  })
})

describe('the verbs of an open store', () => {
  it('are each a case or a read', async () => {
    const store = new SqlStore(openMemory(), machine)
    const verbs = verbsOf(store)
    await store.close()
    const tried = allScenarios.map(([name]) => name.split(',')[0]!)
    expect([...new Set([...tried, ...Object.keys(reads)])].toSorted()).toEqual(verbs)
  })

  it.each(Object.entries(reads))('%s begins no transaction', async (_name, read) => {
    const driver = openMemory()
    const began: unknown[] = []
    const transact: Driver['transact'] = (makeVerb) => {
      began.push(makeVerb)
      return driver.transact(makeVerb)
    }
    await read(new SqlStore({ ...withMishap(driver, { next: null }), transact }, machine))
    expect(began).toEqual([])
  })
})

/** The names of all its methods, and of those of its parts: `runs.claim`. */
function verbsOf(store: Store): readonly string[] {
  const nouns = Object.entries(store).flatMap(([noun, part]) =>
    methodsOf(part as object).map((verb) => `${noun}.${verb}`),
  )
  return [...methodsOf(store), ...nouns].toSorted()
}

function methodsOf(part: object): readonly string[] {
  const found = new Set<string>()
  let at = Object.getPrototypeOf(part) as object
  for (; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const name of Object.getOwnPropertyNames(at)) found.add(name)
  }
  found.delete('constructor')
  return [...found]
}
