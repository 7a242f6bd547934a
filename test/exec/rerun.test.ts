/**
 * Goal: a rerun that is asked for while `exec` works changes nothing of that work's end, and
 * whoever asked and waits does the next round.
 * Method: the real program through a real server; a script tells in a file what it did.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RunJson } from '../scenarios/client.ts'
import { databases, publishNothing } from '../scenarios/server-data.ts'
import type { Command } from '../scenarios/server.ts'
import { answerOf, ExecWorld, newJob, untilGo } from './exec-world.ts'

vi.setConfig({ testTimeout: 60_000 })

let world: ExecWorld
let flags: string[]

beforeEach(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
  publishNothing(world.data)
  await world.serve()
  flags = newJob(['--json'])
})
afterEach(() => world.close())

const again = 'echo "round of $$" >>$AT/again'
const theRun = async (): Promise<RunJson> => (await world.runs())[0]!
const untilWaiting = (command: Command): Promise<string> => command.said(/(Waiting: somebody)/)

async function working(env = {}): Promise<Command> {
  const command = world.start(flags, `${untilGo}; echo fine >$HOLDFAST_SUMMARY_FILE`, env)
  await world.written('pid')
  return command
}

it('whoever works ends with its own code, and says that a rerun was asked for', async () => {
  world.write('summary', 'before\n')
  const first = await working({ GITHUB_STEP_SUMMARY: world.path('summary') })
  await world.server.admin.post(`/v1/runs/${(await theRun()).id}/rerun`)
  world.write('go', 'now')
  const { code, stdout, stderr } = await first.ended
  const answer = { outcome: 'succeeded', reason: 'new', exit_code: 0 }
  expect(answerOf({ code, stdout, stderr })).toMatchObject(answer)
  expect([code, stderr]).toEqual([0, expect.stringContaining('Done: build of')])
  expect(stderr).toMatch(/A rerun was requested, so run_\w+ now waits for whoever does round 2/)
  expect(stderr).not.toContain('run token')
  expect(await world.written('summary')).toBe('before\nfine')
  expect(await theRun()).toMatchObject({ state: 'pending', round: 2 })
})

const complete = (body: object): string =>
  'curl -sf -X POST $HOLDFAST_URL/v1/runs/$HOLDFAST_RUN_ID/complete ' +
  '-H "authorization: Bearer $HOLDFAST_RUN_TOKEN" -H "content-type: application/json" ' +
  `-d '${JSON.stringify(body)}' >$AT/completed`

describe('whoever completes its run itself', () => {
  const error = { code: 'broken', text: 'two findings' }
  const outcomes = [
    [{ outcome: 'succeeded' }, 0, 'succeeded. A rerun'],
    [{ outcome: 'failed', error }, 1, 'failed: broken: two findings. A rerun'],
    [{ outcome: 'skipped' }, 78, 'skipped. A rerun'],
  ] as const

  it.each(outcomes)('as %j and ends with 0 has the exit code %i', async (body, code, words) => {
    const untilEnd = 'while [ ! -e $AT/end ]; do sleep 0.05; done'
    const command = world.start(flags, `${untilGo}; ${complete(body)}; ${untilEnd}`)
    await world.written('pid')
    await world.server.admin.post(`/v1/runs/${(await theRun()).id}/rerun`)
    world.write('go', 'now')
    await command.said(/(completed with its run token; the command has 10 s|Stopping)/)
    world.write('end', 'now')
    const ended = await command.ended
    const { outcome } = body
    expect([ended.code, answerOf(ended)]).toMatchObject([
      code,
      { outcome, reason: 'new', exit_code: code },
    ])
    expect(ended.stderr).toContain(`completed with its run token: ${words}`)
    expect(ended.stderr).toMatch(/A rerun was .* does round 2/)
    expect(await theRun()).toMatchObject({ state: 'pending', round: 2 })
  })

  it('as failed and ends with 0 at once is red, too', async () => {
    const command = world.start(flags, `${untilGo}; ${complete({ outcome: 'failed', error })}`)
    await world.written('pid')
    await world.server.admin.post(`/v1/runs/${(await theRun()).id}/rerun`)
    world.write('go', 'now')
    const ended = await command.ended
    expect([ended.code, answerOf(ended).outcome]).toEqual([1, 'failed'])
    expect(ended.stderr).toContain('completed with its run token: failed: broken: two findings.')
  })
})

it('whoever asked for the rerun and waits does the next round', async () => {
  const first = await working()
  const second = world.start([...flags, '--rerun'], `${again}; exit 7`)
  await untilWaiting(second)
  world.write('go', 'now')
  const ended = await second.ended
  expect([(await first.ended).code, ended.code]).toEqual([0, 7])
  expect(answerOf(ended)).toMatchObject({ outcome: 'failed', reason: 'leased', exit_code: 7 })
  expect(await theRun()).toMatchObject({ state: 'failed', round: 2 })
})

it('of two that asked, one does the next round, and both have its result', async () => {
  const first = await working()
  const others = [1, 2].map(() => world.start([...flags, '--rerun'], `${again}; sleep 1`))
  await Promise.all(others.map(untilWaiting))
  world.write('go', 'now')
  const ended = await Promise.all(others.map((one) => one.ended))
  expect([(await first.ended).code, ...ended.map(({ code }) => code)]).toEqual([0, 0, 0])
  expect(ended.map((one) => answerOf(one).reason).toSorted()).toEqual(['leased', 'waited'])
  expect((await world.written('again')).split('\n')).toHaveLength(1)
  expect(await theRun()).toMatchObject({ state: 'succeeded', round: 2 })
})

it('whoever asked and takes over from a killed one does the next round as well', async () => {
  const env = { HOLDFAST_LEASE_MS: '2000' }
  const first = await working(env)
  const second = world.start([...flags, '--rerun'], again, env)
  await untilWaiting(second)
  first.child.kill('SIGKILL')
  const ended = await second.ended
  expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', exit_code: 0 })
  expect((await world.written('again')).split('\n')).toHaveLength(2)
  expect(await theRun()).toMatchObject({ state: 'succeeded', round: 2 })
})

it('whoever asks for the rerun of work that nobody has begun does it twice', async () => {
  await world.server.admin.claim({ type: 'build', key: flags[3], lease: false })
  const ended = await world.run([...flags, '--rerun'], again)
  expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', exit_code: 0 })
  expect((await world.written('again')).split('\n')).toHaveLength(2)
  expect(await theRun()).toMatchObject({ state: 'succeeded', round: 2 })
})

it('with --no-wait it is red, because nobody is there for the next round', async () => {
  const first = await working()
  const ended = await world.run([...flags, '--rerun', '--no-wait'], again)
  expect([ended.code, world.has('again')]).toEqual([1, false])
  expect(answerOf(ended)).toMatchObject({ outcome: 'running', reason: 'rerun-requested' })
  expect(ended.stderr).toMatch(/Not done yet: .*The rerun is requested/)
  world.write('go', 'now')
  expect((await first.ended).code).toBe(0)
  // The next one that comes does it.
  const next = await world.run(flags, again)
  expect([next.code, answerOf(next).reason, world.has('again')]).toEqual([0, 'leased', true])
})
