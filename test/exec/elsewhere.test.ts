/**
 * Goal: `exec` is green without working only if somebody else did the work, and never if nobody
 * did.
 * Method: runs in every state, made over HTTP, met by the real program.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { at, sha, type Body } from '../scenarios/client.ts'
import { databases } from '../scenarios/server-data.ts'
import { adminToken, type Command } from '../scenarios/server.ts'
import { answerOf, ExecWorld, newJob, pullRequest } from './exec-world.ts'

vi.setConfig({ testTimeout: 60_000 })

let world: ExecWorld
let pulls = 100

beforeAll(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
  world.write(
    'holdfast.config.ts',
    `const quiet = { anchor: false, status: false }
    export default { runs: { review: quiet, build: quiet, lone: { ...quiet, onNewer: 'skip' } } }`,
  )
  await world.serve()
})
afterAll(() => world.close())

const worked = 'echo worked >>$AT/worked; exit 0'
const hasWorked = (): boolean => world.has('worked')

/** A new pull request, claimed by somebody else at some of its heads. */
function newPull() {
  pulls += 1
  const pr = pulls
  const claim = async (head: string, over: object = {}): Promise<Body> => {
    const claimed = {
      repo: 'acme/widgets',
      pr,
      base_sha: sha('main'),
      head_sha: sha(head),
      ...over,
    }
    return (await world.server.admin.claim(claimed)).body
  }
  const flags = (head: string, ...more: string[]) => [...pullRequest(head, pr), '--json', ...more]
  /** The event of a head as GitHub Actions has it. */
  const event = (head: string, updatedAt: string): string[] => {
    const payload = {
      ...{ action: 'synchronize', number: pr, repository: { id: 7, full_name: 'acme/widgets' } },
      pull_request: {
        ...{ number: pr, updated_at: updatedAt },
        ...{ head: { sha: sha(head) }, base: { sha: sha('main') } },
      },
      sender: { login: 'mona', id: 1, type: 'User' },
    }
    world.write(`event-${pr}.json`, JSON.stringify(payload))
    return ['--from-github-event', world.path(`event-${pr}.json`), '--json']
  }
  return { claim, flags, event }
}

const untilWaiting = (command: Command): Promise<string> => command.said(/(Waiting:)/)

describe('work that has ended', () => {
  it('and succeeded is green, and is not done again', async () => {
    const { claim, flags } = newPull()
    await world.server.admin.complete(await claim('a'))
    const { code, stderr, ...ended } = await world.run(flags('a'), worked)
    expect([code, answerOf({ code, stderr, ...ended })]).toMatchObject([
      0,
      { outcome: 'succeeded', reason: 'duplicate' },
    ])
    expect(stderr).toMatch(/Nothing to do: run_\w+ did review of acme\/widgets#\d+/)
    expect(hasWorked()).toBe(false)
  })

  it('is done again with --rerun', async () => {
    const { claim, flags } = newPull()
    await world.server.admin.complete(await claim('a'))
    const ended = await world.run(flags('a', '--rerun'), 'exit 0')
    expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', reason: 'rerun', exit_code: 0 })
  })

  it('and is restored is green: A, then B, then A again', async () => {
    const { claim, flags } = newPull()
    await world.server.admin.complete(await claim('a'))
    await claim('b')
    const ended = await world.run(flags('a'), worked)
    expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', reason: 'restored' })
    expect([ended.code, hasWorked()]).toEqual([0, false])
  })

  it('and failed is tried again by a new event, but red for one that is not new', async () => {
    const { claim, flags, event } = newPull()
    await world.server.admin.complete(await claim('a', { event_at: at(20) }), 'failed')
    const old = await world.run(event('a', at(10)), worked)
    expect(answerOf(old)).toMatchObject({ outcome: 'failed', reason: 'duplicate', exit_code: 1 })
    expect([old.code, hasWorked()]).toEqual([1, false])
    expect(old.stderr).toContain('To do it again, give --rerun')
    const fresh = await world.run(flags('a'), 'exit 0')
    expect(answerOf(fresh)).toMatchObject({ outcome: 'succeeded', reason: 'retry', exit_code: 0 })
  })

  it('and was skipped has the exit code 78 for an event that is not new', async () => {
    const { claim, event } = newPull()
    await world.server.admin.complete(await claim('a', { event_at: at(20) }), 'skipped')
    const { code } = await world.run(event('a', at(10)), worked)
    expect([code, hasWorked()]).toEqual([78, false])
  })

  it('is red if a newer head is known', async () => {
    const { claim, event } = newPull()
    await world.server.admin.complete(await claim('b', { event_at: at(20) }))
    const ended = await world.run(event('a', at(10)), worked)
    expect(answerOf(ended)).toMatchObject({ reason: 'stale-event', exit_code: 1 })
    expect([ended.code, hasWorked()]).toEqual([1, false])
  })

  it('is red while another run of a type that skips is active', async () => {
    const job = { type: 'lone', key: 'lone-1', subject: 'house' }
    await world.server.admin.claim(job)
    const flags = ['--type', 'lone', '--key', 'lone-2', '--subject', 'house', '--json']
    const ended = await world.run(flags, worked)
    expect(answerOf(ended)).toMatchObject({ reason: 'busy', exit_code: 1 })
    expect([ended.code, hasWorked()]).toEqual([1, false])
  })
})

describe('work that somebody else does now', () => {
  it.each([
    ['succeeded', 0],
    ['failed', 1],
    ['skipped', 78],
  ])('is waited for; if it has %s the exit code is %i', async (outcome, exit) => {
    const { claim, flags } = newPull()
    const held = await claim('a')
    const waiting = world.start(flags('a'), worked)
    await untilWaiting(waiting)
    await world.server.admin.complete(held, outcome)
    const ended = await waiting.ended
    expect(answerOf(ended)).toMatchObject({ outcome, reason: 'waited', exit_code: exit })
    expect([ended.code, hasWorked()]).toEqual([exit, false])
  })

  it('is red if it is cancelled or superseded', async () => {
    const first = newPull()
    const held = await first.claim('a')
    const cancelled = world.start(first.flags('a'), worked)
    await untilWaiting(cancelled)
    await world.server.admin.post(`/v1/runs/${held.run.id}/cancel`)
    expect(answerOf(await cancelled.ended)).toMatchObject({ outcome: 'cancelled', exit_code: 1 })
    const second = newPull()
    await second.claim('a')
    const superseded = world.start(second.flags('a'), worked)
    await untilWaiting(superseded)
    await second.claim('b')
    expect(answerOf(await superseded.ended)).toMatchObject({ outcome: 'superseded', exit_code: 1 })
    expect(hasWorked()).toBe(false)
  })

  it('is not waited for with --no-wait, and that is said', async () => {
    const { claim, flags } = newPull()
    await claim('a')
    const ended = await world.run(flags('a', '--no-wait'), worked)
    expect(answerOf(ended)).toMatchObject({ outcome: 'running', reason: 'no-wait', exit_code: 0 })
    expect(ended.stderr).toMatch(/Not waiting, because of --no-wait: somebody else does review of/)
    expect(hasWorked()).toBe(false)
  })

  it('and waits for a decision about a held step is named with that decision', async () => {
    const { claim, flags } = newPull()
    const { run, lease } = await claim('a')
    const holder = { lease_token: lease.token, start_id: 'start-1' }
    for (const what of [{ state: 'started', in_doubt: 'hold' }, { held: true }]) {
      const answer = await fetch(`${world.server.url}/v1/runs/${run.id}/steps/pay`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...holder, ...what }),
      })
      expect(answer.status).toBeLessThan(300)
    }
    const ended = await world.run(flags('a', '--no-wait'), worked)
    const words = 'waits until somebody decides about its held step; to see which: holdfast runs'
    expect(ended.stderr).toContain(`${words} steps ${run.id}`)
  })

  it('of which this command is a part is not waited for, and that is wrong usage', async () => {
    const { claim, flags } = newPull()
    const { run } = await claim('a')
    const ended = await world.run(flags('a'), worked, { HOLDFAST_RUN_ID: run.id })
    expect([ended.code, hasWorked()]).toEqual([2, false])
    expect(ended.stderr).toContain(`This command is a part of ${run.id} (review of`)
  })

  it('and whose end this command would wait for is wrong usage, and queues nothing', async () => {
    const job = { type: 'build', key: 'outer', subject: 'inner and outer' }
    const outer = (await world.server.admin.claim(job)).body
    const inner = newJob(['--subject', 'inner and outer'])
    const env = { HOLDFAST_RUN_ID: outer.run.id }
    const ended = await world.run(inner, worked, env)
    expect([ended.code, hasWorked()]).toEqual([2, false])
    expect(ended.stderr).toContain('so it would wait for itself')
    const runs = await world.runs()
    expect(runs.filter(({ key }) => key === inner[3])).toEqual([])
    await world.server.admin.complete(outer)
    expect((await world.run(inner, 'exit 0', env)).code).toBe(0)
  })

  it('and which is around the run of this command is not waited for, either', async () => {
    const outer = (await world.server.admin.claim({ type: 'build', key: 'around' })).body
    const other = (await world.server.admin.claim({ type: 'build', key: 'beside' })).body
    // What the command of a run inside gets.
    const show = 'echo "$HOLDFAST_OUTER_RUN_IDS" >$AT/outer'
    const inside = { HOLDFAST_RUN_ID: other.run.id, HOLDFAST_OUTER_RUN_IDS: outer.run.id }
    expect((await world.run(newJob(), show, inside)).code).toBe(0)
    expect(await world.written('outer')).toBe(`${outer.run.id},${other.run.id}`)
    const flags = newJob(['--subject', 'around', '--no-wait'])
    const ended = await world.run(flags, worked, inside)
    expect([ended.code, hasWorked()]).toEqual([2, false])
    expect(ended.stderr).toContain(`This command is a part of ${outer.run.id} (build of around)`)
    // Whoever takes HOLDFAST_RUN_ID out of the environment is a part of nothing.
    const { HOLDFAST_RUN_ID: _id, ...alone } = inside
    expect((await world.run(flags, worked, alone)).code).toBe(1)
    for (const held of [outer, other]) await world.server.admin.complete(held)
  })

  it('is done here if its holder does not renew its lease', async () => {
    const { claim, flags } = newPull()
    await claim('a', { lease_ms: 1000 })
    const ended = await world.run(flags('a'), 'exit 0')
    expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', reason: 'reclaimed' })
    expect(ended.code).toBe(0)
  })
})

describe('work that waits for a worker', () => {
  it('is done here, with and without --no-wait', async () => {
    for (const more of [[], ['--no-wait']]) {
      const { claim, flags } = newPull()
      const { run } = await claim('a', { lease: false })
      const ended = await world.run(flags('a', ...more), 'exit 0')
      const answer = { outcome: 'succeeded', reason: 'leased', run_id: run.id, exit_code: 0 }
      expect(answerOf(ended)).toMatchObject(answer)
    }
  })

  it('is done when its turn comes, if it is queued behind another', async () => {
    const [ahead, queued] = [newJob(['--subject', 'line']), newJob(['--subject', 'line', '--json'])]
    const job = { type: 'build', key: ahead[3], subject: 'line' }
    const first = (await world.server.admin.claim(job)).body
    const waiting = world.start(queued, 'exit 0')
    await untilWaiting(waiting)
    await world.server.admin.complete(first)
    const ended = await waiting.ended
    expect(answerOf(ended)).toMatchObject({ outcome: 'succeeded', reason: 'queued', exit_code: 0 })
  })

  it('is red with --no-wait if it is queued, because whoever queued it may be gone', async () => {
    const subject = 'left line'
    const job = { type: 'build', key: 'ahead', subject }
    const ahead = (await world.server.admin.claim(job)).body
    const flags = newJob(['--subject', subject, '--json', '--no-wait'])
    const left = (await world.server.admin.claim({ ...job, key: flags[3] })).body
    expect(left.reason).toBe('queued')
    const ended = await world.run(flags, worked)
    expect(answerOf(ended)).toMatchObject({ outcome: 'pending', reason: 'queued', exit_code: 1 })
    expect([ended.code, hasWorked()]).toEqual([1, false])
    expect(ended.stderr).toMatch(/is queued behind another run.* ahead: holdfast why run_/s)
    await world.server.admin.complete(ahead)
    expect(answerOf(await world.run(flags, 'exit 0'))).toMatchObject({ reason: 'leased' })
  })

  it('is red with --no-wait if it would have to queue, and holds up nobody', async () => {
    const job = { type: 'build', key: 'slow', subject: 'other line' }
    const ahead = (await world.server.admin.claim(job)).body
    const flags = newJob(['--subject', 'other line', '--json'])
    const ended = await world.run([...flags, '--no-wait'], worked)
    expect(answerOf(ended)).toMatchObject({ outcome: 'skipped', reason: 'busy', exit_code: 1 })
    expect([ended.code, hasWorked()]).toEqual([1, false])
    expect(ended.stderr).toMatch(/another run of other line is active, and --no-wait does not wait/)
    await world.server.admin.complete(ahead)
    const next = newJob(['--subject', 'other line', '--json'])
    expect(answerOf(await world.run(next, 'exit 0'))).toMatchObject({ reason: 'new' })
    // With the same key as before, now that it is free.
    const again = await world.run([...flags, '--no-wait'], 'exit 0')
    expect(answerOf(again)).toMatchObject({ outcome: 'succeeded', reason: 'retry', exit_code: 0 })
  })
})
