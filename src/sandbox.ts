/**
 * The sandbox: a simulated GitHub in this process. Every repository and thread exists from the
 * moment in which something is written to it. Nothing leaves the machine. Its content is lost when
 * the process ends: after a restart, what was published is missing and is created again, as if
 * somebody had deleted it.
 */
import { createHash } from 'node:crypto'
import type { Clock } from './clock.ts'
import { isSandboxId, sandboxIdsFrom } from './domain/repository-names.ts'
import type { GitHub, GitHubCalls, GitHubRequests, GitHubTokens, RepositoryRef } from './github.ts'
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

const repositoryPath =
  /^\/(repos|repositories)\/((?<=repos\/)[^/]+\/[^/]+|\d{1,15})(?:\/(?:issues|pulls)\/(\d+))?/
const unknownSha = '0'.repeat(40)

export type SandboxGitHub = GitHub & GitHubCalls & GitHubTokens & GitHubRequests

export function openSandbox(options: SandboxOptions): SandboxGitHub {
  const { clock, scheduler, random } = options
  const simulator = createGitHubSimulator({
    clock,
    scheduler,
    random,
    tokens: [{ token: 'sandbox', login: 'holdfast[bot]' }],
  })
  const content: SandboxContent = { names: new Map(), ids: new Map(), threads: new Set() }
  const github = createGitHub({
    ...options,
    apiUrl: 'http://sandbox.localhost',
    publicUrl: null,
    events: [],
    credentials: { token: 'sandbox' },
    fetch: (input, init) => {
      addMissing(simulator, content, new URL(input instanceof Request ? input.url : input).pathname)
      return simulator.fetch(input, init)
    },
  })
  return {
    ...github,
    /** In the sandbox the first id that a caller gives for a name is the repository's id. */
    repositoryNamed: (repo, unverifiedId) => {
      const holder = content.ids.get(repo.toLowerCase()) ?? null
      if (unverifiedId != null && (holder === null || isSandboxId(holder)))
        makeNamed(simulator, content, unverifiedId, repo)
      return github.repositoryNamed(repo)
    },
    call: (repository, ...args) => {
      // The path has only the id, but links need the name.
      makeKnown(simulator, content, repository)
      return github.call(repository, ...args)
    },
    send: (repository, ...args) => {
      // The path has only the name, and the repository may have an id already.
      makeKnown(simulator, content, repository)
      return github.send(repository, ...args)
    },
  }
}

function makeKnown(
  simulator: GitHubSimulator,
  content: SandboxContent,
  { repo, repoGithubId }: RepositoryRef,
): void {
  if (repoGithubId !== null) makeNamed(simulator, content, repoGithubId, repo)
}

/** The repositories and threads that exist so far. */
interface SandboxContent {
  /** The name by id. */
  readonly names: Map<number, string>
  /** The id by name in lower case. */
  readonly ids: Map<string, number>
  readonly threads: Set<string>
}

/** Adds the repository and the thread of a path, if they do not exist yet. */
function addMissing(simulator: GitHubSimulator, content: SandboxContent, path: string): void {
  const [, kind, repository, thread] = repositoryPath.exec(path) ?? []
  if (repository === undefined) return
  const isByName = kind === 'repos'
  const id = isByName
    ? (content.ids.get(repository.toLowerCase()) ?? idOf(repository))
    : Number(repository)
  if (!content.names.has(id))
    makeNamed(simulator, content, id, isByName ? repository : placeholderName(id))
  const name = content.names.get(id)
  if (name === undefined || thread === undefined || content.threads.has(`${id}#${thread}`)) return
  content.threads.add(`${id}#${thread}`)
  simulator.addPull(name, { number: Number(thread), headSha: unknownSha, baseSha: unknownSha })
}

/** Gives a repository this name. If another repository has it, that one gets a new name. */
function makeNamed(
  simulator: GitHubSimulator,
  content: SandboxContent,
  id: number,
  name: string,
): void {
  const before = content.names.get(id)
  if (before?.toLowerCase() === name.toLowerCase()) return
  const holder = content.ids.get(name.toLowerCase())
  if (holder !== undefined) makeNamed(simulator, content, holder, placeholderName(holder))
  if (before === undefined) simulator.addRepository(name, { id })
  else {
    simulator.rename(before, name)
    content.ids.delete(before.toLowerCase())
  }
  content.names.set(id, name)
  content.ids.set(name.toLowerCase(), id)
}

const placeholderName = (id: number): string => `sandbox/${id}`

/** Every process makes the same id, because the store keeps it. */
function idOf(name: string): number {
  const hash = createHash('sha256').update(name.toLowerCase()).digest()
  return sandboxIdsFrom + hash.readUInt32BE()
}
