import { githubDeclarations } from '../channels/github-channels.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openWorld, type World } from '../../test/conformance/world.ts'
import { TestSubject } from '../../test/conformance/test-subject.ts'
import { completion, grant, holderOf, leaseMs } from '../../test/conformance/claims.ts'
import { noMetrics, type Metrics } from '../metrics.ts'
import { openSqlite } from '../stores/open-sqlite.ts'
import { measuredStore } from './measured-store.ts'

let world: World
let counted: string[]
let timed: string[]

beforeEach(async () => {
  counted = []
  timed = []
  const metrics: Metrics = {
    ...noMetrics,
    claimed: (_type, reason) => void counted.push(reason),
    runEnded: (_type, state) => void counted.push(state),
    leaseLost: () => void counted.push('lost'),
    storeAnswered: (verb) => void timed.push(verb),
  }
  world = await openWorld(async (machine) => {
    const store = openSqlite(
      { path: ':memory:', exclusive: true },
      { ...machine, channels: githubDeclarations },
    )
    return { store: measuredStore(store, metrics, machine.clock), close: () => store.close() }
  })
})
afterEach(() => world.close())

it('the store reports a claim, what it superseded, and the end', async () => {
  const subject = new TestSubject(world)
  await subject.claim('a')
  const held = await subject.claim('b')
  await subject.complete(held)
  expect(counted).toEqual(['new', 'superseded-prior', 'superseded', 'succeeded'])
  expect(timed).toEqual(['runs.claim', 'runs.claim', 'runs.complete'])
})

it('a repeated completion is counted once', async () => {
  const subject = new TestSubject(world)
  const held = await subject.claim('a')
  await subject.complete(held)
  world.clock.move(1)
  await world.store.runs.complete(completion(held, 'succeeded'), null)
  expect(counted).toEqual(['new', 'succeeded'])
})

it('a lost lease is reported, by a claim and by the sweeper', async () => {
  const subject = new TestSubject(world)
  await subject.putInState('a', 'expired')
  await subject.claim('a')
  expect(counted).toEqual(['new', 'reclaimed', 'lost'])
  const other = new TestSubject(world)
  await other.claim('a', { lease: null })
  const leased = await other.lease()
  world.clock.move(leaseMs)
  await world.store.runs.sweep(leased?.run.id ?? '')
  expect(counted.slice(3)).toEqual(['new', 'lost'])
})

it('runs that are taken over from executors are counted as lost', async () => {
  const [again, failed] = [new TestSubject(world), new TestSubject(world, { attempts: 1 })]
  for (const subject of [again, failed]) {
    await subject.claim('a', { lease: null })
    const grants = [grant({ holder: 'executor' })]
    const request = { grants, leaseMs, type: subject.type, askedOnly: false, actor: 'executor' }
    await world.store.runs.leaseMany(request)
  }
  await world.store.runs.takeOverExecutors()
  expect(counted.toSorted()).toEqual(['failed', 'lost', 'lost', 'new', 'new'])
})

it('a run that its executor gives up is counted as lost', async () => {
  const subject = new TestSubject(world)
  await subject.claim('a', { lease: null })
  const grants = [grant({ holder: 'executor' })]
  const request = { grants, leaseMs, type: subject.type, askedOnly: false, actor: 'executor' }
  const [held] = await world.store.runs.leaseMany(request)
  await world.store.runs.giveUp(holderOf(held!))
  expect(counted).toEqual(['new', 'lost'])
})

it('a verb that fails is timed and passes its error on; other calls are not timed', async () => {
  await expect(world.store.runs.cancel('run_none', 'test', null)).rejects.toThrow('run_none')
  expect(timed).toEqual(['runs.cancel'])
  expect(world.store.now()).toBe(world.clock.wallMs())
  expect(timed).toEqual(['runs.cancel'])
})

it('every verb is timed under its noun', async () => {
  await world.store.outbox.lease({ limit: 1, progressMax: 1 })
  expect(timed).toEqual(['outbox.lease'])
})
