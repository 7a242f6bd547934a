/**
 * Goal: a command stops when its run is somebody else's or over, when its job is stopped, and when
 * its lease cannot be kept; and it goes on through a short absence of its server.
 * Method: the real program through a real server, real signals, servers that are killed.
 */
import { once } from 'node:events'
import { closeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makePipe } from '../../src/executors/command/guard/output-pipe.ts'
import { isAlive } from '../executors/commands-world.ts'
import type { RunJson } from '../scenarios/client.ts'
import { databases, publishNothing } from '../scenarios/server-data.ts'
import { answerOf, ExecWorld, newJob, pullRequest, untilGo, untilStopped } from './exec-world.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

let world: ExecWorld

beforeEach(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
  publishNothing(world.data)
  await world.serve()
})
afterEach(() => world.close())

const theRun = async (): Promise<RunJson> => (await world.runs())[0]!
const pidOf = async (): Promise<number> => Number(await world.written('pid'))

describe('a command is stopped', () => {
  it('when a newer head takes its place, and the exit code is 1', async () => {
    const command = world.start([...pullRequest('a'), '--json'], untilStopped)
    const pid = await pidOf()
    const newer = await world.run(pullRequest('b'), 'exit 0')
    const ended = await command.ended
    expect([newer.code, ended.code, isAlive(pid)]).toEqual([0, 1, false])
    expect(answerOf(ended)).toMatchObject({ outcome: 'superseded', reason: 'superseded' })
    expect(ended.stderr).toContain('Stopping the command: a newer head took its place')
  })

  it('when its run is cancelled, with all its processes, also if they ignore SIGTERM', async () => {
    const deaf = `(trap '' TERM; setsid sh -c 'trap "" TERM; echo $$ >$AT/far; ${loop}') & `
    const command = world.start(newJob(['--json']), `${deaf} ${untilStopped}`)
    const pids = [await pidOf(), Number(await world.written('far'))]
    const { id } = await theRun()
    await world.server.admin.post(`/v1/runs/${id}/cancel`)
    const ended = await command.ended
    expect(ended.code).toBe(1)
    expect(answerOf(ended)).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' })
    expect(pids.map(isAlive)).toEqual([false, false])
  })

  it('when it took longer than its type allows', async () => {
    world.write(
      'holdfast.config.ts',
      'export default { runs: { build: { timeoutMs: 1000, anchor: false, status: false } } }',
    )
    await world.server.stop()
    await world.serve()
    // Because of the restart, its time is extended by one lease.
    const ended = await world.run(newJob(['--json']), untilStopped, { HOLDFAST_LEASE_MS: '2000' })
    expect(answerOf(ended)).toMatchObject({ outcome: 'failed', reason: 'lease-lost', exit_code: 1 })
    expect(ended.stderr).toContain('timeout: not done after 1 second')
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('by %s, and the run has failed: interrupted', async (signal, exit) => {
    const script = `trap 'echo ${signal} >$AT/got; exit 0' ${signal.slice(3)}; ${untilStopped}`
    const command = world.start(newJob(['--json']), script)
    await pidOf()
    command.child.kill(signal)
    const ended = await command.ended
    expect(ended.code).toBe(exit)
    expect(answerOf(ended)).toMatchObject({ outcome: 'failed', reason: 'interrupted' })
    expect(await world.written('got')).toBe(signal)
    expect(await theRun()).toMatchObject({ state: 'failed', error: { code: 'interrupted' } })
  })

  it('by SIGINT with SIGKILL 5 s later, if it goes on', async () => {
    const command = world.start(newJob(), `trap '' INT TERM; ${untilStopped}`)
    const pid = await pidOf()
    command.child.kill('SIGINT')
    const ended = await command.ended
    expect([ended.code, isAlive(pid)]).toEqual([130, false])
    expect(await theRun()).toMatchObject({ state: 'failed', error: { code: 'interrupted' } })
  })
})

const loop = 'while [ -e $AT ]; do sleep 0.05; done'

describe('an interruption', () => {
  it('while it waits for somebody else ends it at once and changes nothing', async () => {
    const flags = newJob()
    const working = world.start(flags, untilGo)
    await pidOf()
    const waiting = world.start(flags, 'touch $AT/worked')
    await waiting.said(/Waiting:/)
    waiting.child.kill('SIGTERM')
    expect((await waiting.ended).code).toBe(143)
    world.write('go', 'now')
    expect([(await working.ended).code, world.has('worked')]).toEqual([0, false])
    expect(await theRun()).toMatchObject({ state: 'succeeded', attempt: 1 })
  })

  it('while nobody answers the claim ends it soon, and says what may be left behind', async () => {
    const silent = createServer()
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    const asked = once(silent, 'request')
    const env = { HOLDFAST_URL: `http://127.0.0.1:${port}` }
    const claiming = world.start(newJob(['--json']), 'touch $AT/worked', env)
    await asked
    claiming.child.kill('SIGTERM')
    const ended = await claiming.ended
    expect([ended.code, answerOf(ended).reason, world.has('worked')]).toEqual([
      ...[143, 'interrupted', false],
    ])
    expect(ended.stderr).toContain('so this job may have been given the work')
    silent.closeAllConnections()
    silent.close()
  })

  it('after the answer changes nothing of the exit code that it names', async () => {
    // Nobody reads, and the output does not fit into the pipe, so the answer cannot leave. No piece
    // is so large that the command's output waits for its reader, which would delay the answer too.
    const { reading, writing } = makePipe()!
    const pieces = 'head -c 60000 /dev/zero; sleep 0.5; head -c 20000 /dev/zero'
    const script = ['sh', '-c', pieces]
    const command = world.startCommand(newJob(['--json']), script, {}, [writing, 'pipe'])
    closeSync(writing)
    await command.said(/Done: build of/)
    const signals = setInterval(() => command.child.kill('SIGTERM'), 50)
    const { code } = await command.ended
    clearInterval(signals)
    closeSync(reading)
    expect([code, (await theRun()).state]).toEqual([0, 'succeeded'])
  })

  it('in a queue names the run that stays in it, as a worker may not cancel', async () => {
    const working = world.start(newJob(['--subject', 'line']), untilGo)
    await pidOf()
    const queued = world.start(newJob(['--subject', 'line']), 'touch $AT/worked')
    await queued.said(/is queued behind another run/)
    queued.child.kill('SIGINT')
    const { code, stderr } = await queued.ended
    expect(code).toBe(130)
    expect(stderr).toContain('stays in its queue for the next exec of the same work.')
    expect(stderr).toMatch(/To take it out: holdfast runs cancel run_/)
    world.write('go', 'now')
    expect((await working.ended).code).toBe(0)
  })
})

describe('a run that its own command completes', () => {
  const complete = (body: string): string =>
    'curl -sf -X POST $HOLDFAST_URL/v1/runs/$HOLDFAST_RUN_ID/complete ' +
    '-H "authorization: Bearer $HOLDFAST_RUN_TOKEN" -H "content-type: application/json" ' +
    `-d '${body}' >$AT/completed; `

  it('keeps what the command said, and the exit code follows it', async () => {
    const good = await world.run(newJob(), `${complete('{"outcome":"succeeded"}')} exit 0`)
    expect(good.code).toBe(0)
    const bad = await world.run(newJob(), `${complete('{"outcome":"failed"}')} exit 0`)
    expect(bad.code).toBe(1)
    expect(bad.stderr).toContain('The run was completed with its run token: failed')
    // 78 says that the run is skipped, and it is not.
    const no = await world.run(newJob(), `${complete('{"outcome":"failed"}')} exit 78`)
    const yes = await world.run(newJob(), `${complete('{"outcome":"succeeded"}')} exit 78`)
    const skip = await world.run(newJob(), `${complete('{"outcome":"skipped"}')} exit 78`)
    expect([no.code, yes.code, skip.code]).toEqual([1, 0, 78])
    const late = await world.run(newJob(), `${complete('{"outcome":"succeeded"}')} exit 4`)
    expect(late.code).toBe(4)
  })

  it('gives the command 10 s to end, and then stops it, also with a shorter lease', async () => {
    const trap = "trap 'echo TERM >$AT/got; exit 0' TERM;"
    const script = `${trap} ${complete('{"outcome":"succeeded"}')} ${untilStopped}`
    const command = world.start(newJob(), script, { HOLDFAST_LEASE_MS: '3000' })
    const pid = await pidOf()
    const { code, stderr } = await command.ended
    expect([code, isAlive(pid)]).toEqual([0, false])
    expect(stderr).toContain('the command has 10 s to end')
    expect(world.has('got')).toBe(true)
  })
})

describe('while the server is away', () => {
  const portOf = (): string => new URL(world.server.url).port

  it('the command goes on, and its result is stored when the server is back', async () => {
    const command = world.start(newJob(['--json']), untilGo, { HOLDFAST_LEASE_MS: '30000' })
    await pidOf()
    const port = portOf()
    await world.server.kill()
    await command.said(/does not answer; trying again/)
    world.write('go', 'now')
    await command.said(/the result is stored when it is back/)
    await world.serve({}, port)
    const ended = await command.ended
    expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', exit_code: 0 })
    expect(await theRun()).toMatchObject({ state: 'succeeded', attempt: 1 })
  })

  it('a signal soon ends the wait for it, and the exit code is 3', async () => {
    const command = world.start(newJob(['--json']), untilGo, { HOLDFAST_LEASE_MS: '30000' })
    await pidOf()
    await world.server.kill()
    world.write('go', 'now')
    await command.said(/the result is stored when it is back/)
    const begunAtMs = performance.now()
    command.child.kill('SIGTERM')
    const ended = await command.ended
    expect(performance.now() - begunAtMs).toBeLessThan(20_000)
    expect(answerOf(ended)).toMatchObject({ outcome: null, reason: 'not-stored', exit_code: 3 })
    expect([ended.code, ended.stderr]).toEqual([3, expect.stringContaining('could not be stored')])
  })

  it('the command goes on through it, if the server is back before the lease ends', async () => {
    const command = world.start(newJob(), untilGo, { HOLDFAST_LEASE_MS: '30000' })
    await pidOf()
    const port = portOf()
    await world.server.kill()
    await command.said(/does not answer; trying again/)
    await world.serve({}, port)
    await command.said(/is back\./)
    world.write('go', 'now')
    expect((await command.ended).code).toBe(0)
  })

  it('the command is stopped when its lease ends, and the exit code is 3', async () => {
    const command = world.start(newJob(['--json']), untilStopped, { HOLDFAST_LEASE_MS: '3000' })
    const pid = await pidOf()
    await world.server.kill()
    const ended = await command.ended
    expect([ended.code, isAlive(pid)]).toEqual([3, false])
    expect(answerOf(ended)).toMatchObject({ outcome: null, reason: 'unreachable' })
  })
})
