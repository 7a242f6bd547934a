/**
 * How many calls to GitHub one run costs. GitHub limits calls, so they are scarce. The run is
 * claimed, reports twenty times in forty seconds, and finishes. Ours is the whole publisher with a
 * simulated clock. The peer is the naive way: look for the comment before every write, and write
 * for every report. A simulated GitHub counts both, so the numbers are the same on every machine.
 */
import type { GitHubSimulator } from '../src/simulator/index.ts'
import { createGitHubSimulator } from '../src/simulator/index.ts'
import { baseSha, head, openWorld, repo, second } from '../test/outbox/world.ts'

const reports = 20
const reportEveryMs = 2 * second

export interface Calls {
  readonly creates: number
  readonly edits: number
  readonly statuses: number
  readonly reads: number
}

export async function measureCalls(): Promise<{ ours: Calls; naive: Calls }> {
  return { ours: await countOurCalls(), naive: await countNaiveCalls() }
}

/** Whether a run costs at most what bench/README.md promises. */
export function areWithinBounds({ creates, edits, statuses, reads }: Calls): boolean {
  return creates === 1 && edits <= reports + 2 && statuses === 2 && reads === 0
}

export function renderCalls({ ours, naive }: { ours: Calls; naive: Calls }): string {
  const line = (name: string, { creates, edits, statuses, reads }: Calls): string => {
    const parts = `${creates} create, ${edits} edits, ${statuses} statuses, ${reads} reads`
    return `calls per run, ${name}: ${creates + edits + statuses + reads} (${parts})`
  }
  const verdict = areWithinBounds(ours) ? 'ok' : 'MISSED'
  return `${line('ours', ours)}  ${verdict}\n${line('naive', naive)}`
}

async function countOurCalls(): Promise<Calls> {
  const world = await openWorld({ limits: { spacingMs: second, perMinute: 80, perHour: 500 } })
  try {
    world.startPublisher()
    const claimed = await world.claim()
    for (let i = 1; i <= reports; i++) {
      await world.time.pass(reportEveryMs)
      await world.report(claimed, `step ${i}`)
    }
    await world.complete(claimed)
    await world.time.pass(60 * second)
    return countCalls(world.github)
  } finally {
    await world.close()
  }
}

async function countNaiveCalls(): Promise<Calls> {
  const github = createGitHubSimulator()
  github.addRepository(repo)
  github.addPull(repo, { number: 5, headSha: head(1), baseSha })
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await github.fetch(`http://github.localhost/repos/${repo}${path}`, {
      method,
      headers: { authorization: 'Bearer token' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return await answer.json()
  }
  const comment = async (body: string): Promise<void> => {
    const listed = (await ask('GET', '/issues/5/comments?per_page=100')) as { id: number }[]
    const [found] = listed
    if (found === undefined) await ask('POST', '/issues/5/comments', { body })
    else await ask('PATCH', `/issues/comments/${found.id}`, { body })
  }
  const status = async (state: string): Promise<void> => {
    await ask('GET', `/commits/${head(1)}/statuses`)
    await ask('POST', `/statuses/${head(1)}`, { state, context: 'naive' })
  }
  await comment('started')
  await status('pending')
  for (let i = 1; i <= reports; i++) await comment(`step ${i}`)
  await comment('finished')
  await status('success')
  return countCalls(github)
}

/** Reads that are sent once per start or once per repository, not per run. */
const onceReads = ['/user', `/repos/${repo}`]

function countCalls(github: GitHubSimulator): Calls {
  const count = (method: string, part: RegExp): number =>
    github.count((request) => request.method === method && part.test(request.path))
  return {
    creates: count('POST', /\/issues\/5\/comments$/),
    edits: count('PATCH', /\/issues\/comments\//),
    statuses: count('POST', /\/statuses\//),
    reads: github.count(({ method, path }) => method === 'GET' && !onceReads.includes(path)),
  }
}
