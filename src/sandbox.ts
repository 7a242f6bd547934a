/**
 * The sandbox: a simulated GitHub in this process, on which every repository and thread that is
 * written to exists from that moment on. Nothing leaves the machine, and it forgets with the
 * process: what stood there is found gone, and made anew, as if somebody had removed it.
 */
import type { Clock } from './clock.ts'
import type { GitHub, GitHubCalls } from './github.ts'
import { createGitHub } from './github/create-github.ts'
import type { Log } from './log.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import type { GitHubSimulator } from './simulator/index.ts'
import { createGitHubSimulator } from './simulator/index.ts'

export interface SandboxOptions {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly random: Random
  readonly log: Log
  readonly version: string
}

const ofRepository = /^\/repos\/([^/]+\/[^/]+)(?:\/(?:issues|pulls)\/(\d+))?/
const nowhereSha = '0'.repeat(40)

export function openSandbox(options: SandboxOptions): GitHub & GitHubCalls {
  const { clock, scheduler, random } = options
  const simulator = createGitHubSimulator({
    clock,
    scheduler,
    random,
    tokens: [{ token: 'sandbox', login: 'holdfast[bot]' }],
  })
  const known = new Set<string>()
  return createGitHub({
    ...options,
    apiUrl: 'http://sandbox.localhost',
    publicUrl: null,
    events: [],
    credentials: { token: 'sandbox' },
    fetch: (input, init) => {
      makeKnown(simulator, known, new URL(input instanceof Request ? input.url : input).pathname)
      return simulator.fetch(input, init)
    },
  })
}

function makeKnown(simulator: GitHubSimulator, known: Set<string>, path: string): void {
  const [, repo, thread] = ofRepository.exec(path) ?? []
  if (repo === undefined) return
  once(known, repo, () => simulator.addRepository(repo))
  if (thread === undefined) return
  const heads = { headSha: nowhereSha, baseSha: nowhereSha }
  once(known, `${repo}#${thread}`, () =>
    simulator.addPull(repo, { number: Number(thread), ...heads }),
  )
}

function once(known: Set<string>, name: string, make: () => unknown): void {
  const key = name.toLowerCase()
  if (known.has(key)) return
  known.add(key)
  make()
}
