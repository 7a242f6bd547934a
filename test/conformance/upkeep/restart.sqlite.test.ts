/**
 * Goal: a start after an absence gives holders one more full lease, whatever the machine's clock
 * did meanwhile.
 * Method: one file, opened again and again with the same clock. Only on SQLite, where the store's
 * clock is the machine's, which a test can move while no server runs.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openSqlite } from '../../../src/stores/open-sqlite.ts'
import { leaseMs } from '../claims.ts'
import { TestSubject } from '../test-subject.ts'
import { hour, machineWith, second, TestClock, type World } from '../world.ts'

let folder: string
let clock: TestClock
let world: World

async function serve(): Promise<void> {
  const store = openSqlite({ path: join(folder, 'store.db'), exclusive: true }, machineWith(clock))
  world = { store, clock, close: () => store.close() }
  await store.upkeep.beat()
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-restart-'))
  clock = new TestClock()
  await serve()
})
afterEach(async () => {
  await world.close()
  rmSync(folder, { recursive: true })
})

/** Claims the same subject through the store that is open now. */
async function reasonOf(subject: TestSubject): Promise<string> {
  return (await world.store.runs.claim(subject.claimOf('a'), null)).reason
}

it('a lease that expired while no server ran lasts one lease longer', async () => {
  const subject = new TestSubject(world)
  await subject.claim('a')
  await world.close()
  clock.move(3 * leaseMs)
  await serve()
  expect(await reasonOf(subject)).toBe('duplicate')
  for (let passed = 0; passed < leaseMs; passed += second) {
    clock.move(second)
    await world.store.upkeep.beat()
  }
  expect(await reasonOf(subject)).toBe('reclaimed')
})

it('a lease that expired long before the absence gets nothing', async () => {
  const subject = new TestSubject(world)
  await subject.claim('a')
  for (let passed = 0; passed < leaseMs + 10 * second; passed += second) {
    clock.move(second)
    await world.store.upkeep.beat()
  }
  await world.close()
  clock.move(hour)
  await serve()
  expect(await reasonOf(subject)).toBe('reclaimed')
})

it('a clock that was set back before the absence does not hide it', async () => {
  clock.move(-hour)
  await world.store.upkeep.beat()
  const subject = new TestSubject(world)
  await subject.claim('a')
  clock.move(second)
  await world.store.upkeep.beat()
  await world.close()
  clock.move(2 * leaseMs)
  await serve()
  expect(await reasonOf(subject)).toBe('duplicate')
})

it('a second restart within that lease keeps what the first one granted', async () => {
  const subject = new TestSubject(world)
  await subject.claim('a')
  await world.close()
  clock.move(2 * leaseMs)
  await serve()
  for (let passed = 0; passed < 8; passed++) {
    clock.move(second)
    await world.store.upkeep.beat()
  }
  await world.close()
  clock.move(2 * second)
  await serve()
  expect(await reasonOf(subject)).toBe('duplicate')
  for (let passed = 0; passed < leaseMs; passed += second) {
    clock.move(second)
    await world.store.upkeep.beat()
  }
  expect(await reasonOf(subject)).toBe('reclaimed')
})

it('a clock that was set back while no server ran leaves no lease in the future', async () => {
  const subject = new TestSubject(world)
  await subject.claim('a')
  await world.close()
  clock.move(-hour)
  await serve()
  expect(await reasonOf(subject)).toBe('duplicate')
  for (let passed = 0; passed < leaseMs; passed += second) {
    clock.move(second)
    await world.store.upkeep.beat()
  }
  expect(await reasonOf(subject)).toBe('reclaimed')
})

it('a program without a server gives holders time while their server restarts', async () => {
  const subject = new TestSubject(world)
  await subject.claim('a')
  await world.close()
  const embedded = openSqlite(
    { path: join(folder, 'store.db'), exclusive: false },
    machineWith(clock),
  )
  world = { store: embedded, clock, close: () => embedded.close() }
  await embedded.upkeep.watch()
  async function watchFor(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) {
      clock.move(second)
      await embedded.upkeep.watch()
    }
  }
  await watchFor(2 * 60)
  expect(await reasonOf(subject)).toBe('duplicate')
  await watchFor(8 * 60)
  expect(await reasonOf(subject)).toBe('reclaimed')
})
