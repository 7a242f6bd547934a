/**
 * The sandbox: a simulated GitHub in this process, on which every repository and thread that is
 * written to exists from that moment on. Nothing leaves the machine, and it forgets with the
 * process: what stood there is found gone, and made anew, as if somebody had removed it.
 */
import { createHash } from 'node:crypto'
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

const ofRepository =
  /^\/(repos|repositories)\/((?<=repos\/)[^/]+\/[^/]+|\d{1,15})(?:\/(?:issues|pulls)\/(\d+))?/
/** Above every id that GitHub gives out: what a webhook brings never means another repository. */
const ownIdsFrom = 1e14
const nowhereSha = '0'.repeat(40)

export function openSandbox(options: SandboxOptions): GitHub & GitHubCalls {
  const { clock, scheduler, random } = options
  const simulator = createGitHubSimulator({
    clock,
    scheduler,
    random,
    tokens: [{ token: 'sandbox', login: 'holdfast[bot]' }],
  })
  const made: Made = { names: new Map(), ids: new Map(), threads: new Set() }
  const github = createGitHub({
    ...options,
    apiUrl: 'http://sandbox.localhost',
    publicUrl: null,
    events: [],
    credentials: { token: 'sandbox' },
    fetch: (input, init) => {
      makeKnown(simulator, made, new URL(input instanceof Request ? input.url : input).pathname)
      return simulator.fetch(input, init)
    },
  })
  return {
    ...github,
    /** Everything exists in the sandbox: the first id that a caller gives for a name is its id. */
    repositoryNamed: (repo, unverifiedId) => {
      const holder = made.ids.get(repo.toLowerCase()) ?? ownIdsFrom
      if (unverifiedId != null && holder >= ownIdsFrom)
        makeNamed(simulator, made, unverifiedId, repo)
      return github.repositoryNamed(repo)
    },
    call: (repository, ...asked) => {
      // A path by id says nothing of the name, and links are made with it.
      const { repo, repoGithubId } = repository
      if (repoGithubId !== null) makeNamed(simulator, made, repoGithubId, repo)
      return github.call(repository, ...asked)
    },
  }
}

/** What was made so far. */
interface Made {
  /** By id. */
  readonly names: Map<number, string>
  /** By lower-cased name: who has it now. */
  readonly ids: Map<string, number>
  readonly threads: Set<string>
}

function makeKnown(simulator: GitHubSimulator, made: Made, path: string): void {
  const [, way, repository, thread] = ofRepository.exec(path) ?? []
  if (repository === undefined) return
  const isByName = way === 'repos'
  const id = isByName
    ? (made.ids.get(repository.toLowerCase()) ?? idOf(repository))
    : Number(repository)
  if (!made.names.has(id)) makeNamed(simulator, made, id, isByName ? repository : namelessOf(id))
  const name = made.names.get(id)
  if (name === undefined || thread === undefined || made.threads.has(`${id}#${thread}`)) return
  made.threads.add(`${id}#${thread}`)
  simulator.addPull(name, { number: Number(thread), headSha: nowhereSha, baseSha: nowhereSha })
}

/** It has this name from now on; another that had it until now has given it up. */
function makeNamed(simulator: GitHubSimulator, made: Made, id: number, name: string): void {
  const before = made.names.get(id)
  if (before?.toLowerCase() === name.toLowerCase()) return
  const holder = made.ids.get(name.toLowerCase())
  if (holder !== undefined) makeNamed(simulator, made, holder, namelessOf(holder))
  if (before === undefined) simulator.addRepository(name, { id })
  else {
    simulator.rename(before, name)
    made.ids.delete(before.toLowerCase())
  }
  made.names.set(id, name)
  made.ids.set(name.toLowerCase(), id)
}

const namelessOf = (id: number): string => `sandbox/${id}`

/** The same in every process, because the store remembers it. */
function idOf(name: string): number {
  const hash = createHash('sha256').update(name.toLowerCase()).digest()
  return ownIdsFrom + hash.readUInt32BE()
}
