/**
 * Goal: of several `exec` for one piece of work, one works at a time, however they end, with no
 * server to keep them apart.
 * Method: the real program directly on both databases; processes are killed.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isAlive, untilDead } from '../executors/commands-world.ts'
import { databases } from '../scenarios/server-data.ts'
import { programLine } from '../scenarios/server.ts'
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

  it('if it is interrupted in the queue, another one that waits does the work', async () => {
    const ahead = world.start(newJob(['--subject', 'stop']), untilGo)
    await world.written('pid')
    const flags = newJob(['--subject', 'stop', '--json'])
    const interrupted = world.start(flags, 'touch $AT/interrupted')
    await interrupted.said(/is queued behind another run/)
    const other = world.start(flags, 'echo worked >>$AT/worked')
    await other.said(/Waiting: (run_\w+)/)
    interrupted.child.kill('SIGTERM')
    expect((await interrupted.ended).code).toBe(143)
    await other.said(/Waiting: (run_\w+) .* is queued behind another run/)
    world.write('go', 'now')
    const ended = await other.ended
    expect([(await ahead.ended).code, ended.code]).toEqual([0, 0])
    expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', reason: 'queued' })
    expect([await world.written('worked'), world.has('interrupted')]).toEqual(['worked', false])
  })

  it('if it is interrupted in the queue and nobody else waits, its run is cancelled', async () => {
    const ahead = world.start(newJob(['--subject', 'stop']), untilGo)
    await world.written('pid')
    const queued = world.start(newJob(['--subject', 'stop']), 'exit 0')
    await queued.said(/is queued behind another run/)
    queued.child.kill('SIGTERM')
    expect((await queued.ended).code).toBe(143)
    const states = (await world.runs()).map(({ state }) => state)
    expect(states).toEqual(['cancelled', 'running', 'succeeded'])
    world.write('go', 'now')
    await ahead.ended
  })

  it('with --no-wait, leaves nothing in the queue, and a later one can do the work', async () => {
    const ahead = world.start(newJob(['--subject', 'stop']), untilGo)
    await world.written('pid')
    const flags = newJob(['--subject', 'stop', '--json'])
    const ended = await world.run([...flags, '--no-wait'], 'exit 0')
    expect(answerOf(ended)).toMatchObject({ outcome: 'skipped', reason: 'busy', exit_code: 1 })
    const later = world.start(flags, 'exit 0')
    await later.said(/is queued behind another run/)
    world.write('go', 'now')
    await ahead.ended
    expect(answerOf(await later.ended)).toMatchObject({ outcome: 'succeeded', reason: 'queued' })
  })

  it('two levels deep in its own queue, is wrong usage at once, and queues nothing', async () => {
    const databaseUrl = world.data.env['HOLDFAST_DATABASE_URL']
    const database = databaseUrl ?? `sqlite:${world.path('holdfast.db')}`
    const start = `env -u HOLDFAST_URL HOLDFAST_DATABASE_URL=${database} ${programLine} exec`
    const deep = '$IN --type build --key deep --subject nest -- touch $AT/deep; echo $? >$AT/code'
    const middle = `$IN --type build --key middle -- sh -c '${deep}'`
    const outer = world.start(newJob(['--subject', 'nest']), middle, { IN: start })
    expect(await world.written('code')).toBe('2')
    const { code, stderr } = await outer.ended
    expect([code, world.has('deep')]).toEqual([0, false])
    const [inner, run] = await world.runs()
    expect(stderr).toContain(`This command is a part of ${run!.id} (build of nest)`)
    expect([inner!.key, (await world.runs()).length]).toEqual(['middle', 3])
  })

  it('if a person cancels the run that it waits for, it does not do the work', async () => {
    const ahead = world.start(newJob(['--subject', 'stop']), untilGo)
    await world.written('pid')
    const queued = world.start(newJob(['--subject', 'stop', '--json']), 'touch $AT/worked')
    await queued.said(/is queued behind another run/)
    const [run] = await world.runs()
    await world.ask('runs', 'cancel', run!.id)
    const ended = await queued.ended
    expect(answerOf(ended)).toMatchObject({ outcome: 'cancelled', reason: 'waited', exit_code: 1 })
    world.write('go', 'now')
    await ahead.ended
    expect(world.has('worked')).toBe(false)
  })

  it('if it is stopped for longer than its lease, it stores nothing', async () => {
    const flags = newJob(['--json'])
    const stopped = world.start(flags, untilGo, { HOLDFAST_LEASE_MS: '2000' })
    const pid = Number(await world.written('pid'))
    stopped.child.kill('SIGSTOP')
    await untilDead(pid)
    stopped.child.kill('SIGCONT')
    const late = await stopped.ended
    expect([late.code, answerOf(late).reason]).toEqual([1, 'lease-lost'])
    expect(late.stderr).toMatch(/Stopped: its lease (was not|could not be) renewed in time/)
    expect((await world.runs())[0]).toMatchObject({ state: 'running', error: null })
    const next = await world.run(flags, 'exit 0')
    expect(answerOf(next)).toMatchObject({ outcome: 'succeeded', reason: 'reclaimed' })
  })

  it('if it is stopped just before its command and loses its lease, starts nothing', async () => {
    // It makes pipes right before it starts the command. This stops it there.
    const path = process.env['PATH'] ?? ''
    const stop = 'kill -STOP $PPID; echo $PPID >$AT/stopped'
    mkdirSync(world.path('bin'))
    const script = `#!/bin/sh\n${stop}\nPATH=${path} exec mkfifo "$@"\n`
    writeFileSync(world.path('bin/mkfifo'), script, { mode: 0o700 })
    const flags = newJob(['--json'])
    const env = { HOLDFAST_LEASE_MS: '3000' }
    const inTheWay = { ...env, PATH: `${world.path('bin')}:${path}` }
    const first = world.start(flags, 'touch $AT/late', inTheWay)
    const pid = Number(await world.written('stopped'))
    const next = await world.run(flags, 'exit 0', env)
    expect(answerOf(next)).toMatchObject({ outcome: 'succeeded', reason: 'reclaimed' })
    // It makes two pipes. The second one must not stop it again.
    world.write('bin/mkfifo', '#!/bin/sh\nexit 1\n')
    process.kill(pid, 'SIGCONT')
    const late = await first.ended
    expect([late.code, answerOf(late).reason]).toEqual([1, 'lease-lost'])
    expect(world.has('late')).toBe(false)
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
