/**
 * Goal: of several `exec` for one piece of work, one works at a time, however they end, with no
 * server to keep them apart.
 * Method: the real program directly on both databases; processes are killed.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isAlive, untilDead } from '../executors/commands-world.ts'
import { databases } from '../scenarios/server-data.ts'
import { answerOf, ExecWorld, newJob, untilGo } from './exec-world.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

describe.each(databases)('exec directly on $name', ({ makeData }) => {
  let world: ExecWorld

  beforeEach(async () => {
    world = await ExecWorld.open(makeData)
    // The first one makes the database.
    expect((await world.run(newJob(), 'exit 0')).code).toBe(0)
  })
  afterEach(() => world.close())

  it('works once for two at the same time, and both are green', async () => {
    const flags = newJob(['--json'])
    const script = `echo worked >>$AT/worked; ${untilGo}`
    const both = [world.start(flags, script), world.start(flags, script)]
    await world.written('pid')
    await Promise.race(both.map((one) => one.said(/Waiting: somebody else does build of/)))
    world.write('go', 'now')
    const ended = await Promise.all(both.map((one) => one.ended))
    expect(ended.map(({ code }) => code)).toEqual([0, 0])
    expect(ended.map((one) => answerOf(one).reason).toSorted()).toEqual(['new', 'waited'])
    expect(await world.written('worked')).toBe('worked')
  })

  it('works one after the other for two jobs of one subject', async () => {
    const script = 'test ! -e $AT/busy && touch $AT/busy && sleep 0.3 && rm $AT/busy'
    const jobs = Array.from({ length: 3 }, () => newJob(['--subject', 'deploy']))
    const ended = await Promise.all(jobs.map((flags) => world.run(flags, script)))
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
  })

  it('if it is killed, leaves no process behind, and the one that waits works', async () => {
    const env = { HOLDFAST_LEASE_MS: '3000' }
    const flags = newJob(['--json'])
    const script =
      `(setsid sh -c 'echo $$ >$AT/far; while [ -e $AT ]; do sleep 0.05; done' &) ; ${untilGo}; ` +
      'rm $AT/pid'
    const first = world.start(flags, script, env)
    const pids = [Number(await world.written('pid')), Number(await world.written('far'))]
    expect(pids.map(isAlive)).toEqual([true, true])
    const second = world.start(flags, 'echo "after $(cat $AT/pid)" >$AT/second', env)
    await second.said(/Waiting: somebody else/)
    first.child.kill('SIGKILL')
    for (const pid of pids) await untilDead(pid)
    const ended = await second.ended
    expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', reason: 'reclaimed' })
    expect(await world.written('second')).toBe(`after ${pids[0]}`)
    expect((await world.runs())[0]).toMatchObject({ state: 'succeeded', attempt: 2, round: 1 })
  })

  it('if it is killed after it waited for its turn, the next of its key takes over', async () => {
    const env = { HOLDFAST_LEASE_MS: '3000' }
    const ahead = world.start(newJob(['--subject', 'line']), untilGo, env)
    await world.written('pid')
    const flags = newJob(['--subject', 'line', '--json'])
    const queued = world.start(flags, 'echo $$ >$AT/queued; sleep 60', env)
    await queued.said(/is queued behind another run/)
    world.write('go', 'now')
    expect((await ahead.ended).code).toBe(0)
    await world.written('queued')
    queued.child.kill('SIGKILL')
    const next = await world.run(flags, 'exit 0', env)
    expect(answerOf(next)).toMatchObject({ outcome: 'succeeded', reason: 'reclaimed' })
    expect((await world.runs())[0]).toMatchObject({ state: 'succeeded', attempt: 2, round: 1 })
  })

  it('if it is stopped, its command is dead before the next one begins', async () => {
    const env = { HOLDFAST_LEASE_MS: '3000' }
    const flags = newJob(['--json'])
    const first = world.start(flags, untilGo, env)
    const pid = Number(await world.written('pid'))
    const second = world.start(
      flags,
      `sed 's/.*) \\(.\\).*/\\1/' /proc/${pid}/stat >$AT/state`,
      env,
    )
    await second.said(/Waiting: somebody else/)
    first.child.kill('SIGSTOP')
    expect((await second.ended).code).toBe(0)
    // Dead, although the stopped process cannot take notice of it.
    expect(await world.written('state')).toBe('Z')
    first.child.kill('SIGCONT')
    const late = await first.ended
    expect([late.code, answerOf(late).reason]).toEqual([1, 'lease-lost'])
    expect((await world.runs())[0]).toMatchObject({ state: 'succeeded', attempt: 2 })
  })
})
