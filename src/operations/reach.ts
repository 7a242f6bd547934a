/**
 * What a caller may reach: by its scope, by the repositories and types that its token is limited
 * to, and, for a run token, by its run.
 *
 * What must hold: the scope is checked before anything is read from the store. If an operation does
 * not declare how it stays within limits, limited tokens may not call it.
 */
import type { Run } from '../domain/run.ts'
import {
  isNameStart,
  limitWords,
  reachesRepository,
  reachesType,
  type RepositoryPlace,
  type TokenLimits,
} from '../domain/token-limits.ts'
import { ForbiddenError, runNotFound } from '../errors.ts'
import type { StorePart } from '../store.ts'
import { isAdmin, limitsOf, type Caller, type Scope } from './caller.ts'

/**
 * `run` and `delivery`: what `id` names has to be within the caller's limits. `itself`: the
 * operation passes the limits on, or shows nothing that belongs to a repository.
 */
export type Within = 'run' | 'delivery' | 'itself'

export interface Reach {
  /** An admin always has access. */
  readonly scopes: readonly Scope[]
  readonly within?: Within
}

/** Every token except a run token, which is for one run. */
export const anyToken: readonly Scope[] = ['operator', 'worker', 'read', 'bot']

export type ReachStore = StorePart<{
  runs: 'get' | 'subject'
  repositories: 'names' | 'getByName'
  outbox: 'delivery'
}>

/**
 * Rejects if the caller may not reach it. `id`: the run or delivery it is about. The scope is
 * checked first, without reading the store.
 */
export async function checkReach(
  { store }: { readonly store: ReachStore },
  reach: Reach,
  caller: Caller,
  id: unknown,
): Promise<void> {
  checkScope(reach, caller, id)
  const [{ within }, limits] = [reach, limitsOf(caller)]
  if (limits === undefined || typeof id !== 'string') return
  if (within === 'run') await checkRun(store, limits, id)
  if (within !== 'delivery') return
  const delivery = await store.outbox.delivery(id)
  if (delivery === null) return
  // A delivery that never had a run is outside of all limits.
  if (delivery.runId === null) throw tooWide(limits)
  const run = await store.runs.get(delivery.runId)
  // A purged run leaves its comment's delivery behind, and nothing says which limits it was within.
  if (run === null) throw outsideLimits(limits, `delivery ${id}`)
  await checkLimits(store, limits, run)
}

function checkScope({ scopes, within }: Reach, caller: Caller, id: unknown): void {
  if (!isAdmin(caller) && !hasScope(scopes, caller, id)) throw forbidden(scopes, caller)
  const limits = limitsOf(caller)
  if (limits !== undefined && within === undefined) throw tooWide(limits)
}

function hasScope(scopes: readonly Scope[], caller: Caller, id: unknown): boolean {
  if (caller.kind === 'run') return scopes.includes('run') && id === caller.runId
  const held = caller.kind === 'token' ? caller.scope.split(':')[0] : undefined
  return scopes.some((scope) => scope !== 'run' && scope === held)
}

/**
 * A run that does not exist is refused here, before the operation: the audit may still tell its
 * history, and nothing says which limits it was within.
 */
export async function checkRun(
  store: ReachStore,
  limits: TokenLimits,
  runId: string,
): Promise<void> {
  const run = await store.runs.get(runId)
  if (run === null) throw runNotFound(runId)
  await checkLimits(store, limits, run)
}

async function checkLimits(store: ReachStore, limits: TokenLimits, run: Run): Promise<void> {
  const fits = reachesType(limits, run.type) && reachesRepository(limits, await placeOf(store, run))
  if (!fits) throw outsideLimits(limits, `run ${run.id}`)
}

async function placeOf(store: ReachStore, run: Run): Promise<RepositoryPlace | null> {
  const scope = (await store.runs.subject(run.subjectId))?.scope ?? ''
  const name = (await store.repositories.names([scope])).get(scope)
  return name === undefined ? null : { id: scope, name }
}

export function outsideLimits(limits: TokenLimits, what: string): ForbiddenError {
  const message = `This token is limited to ${limitWords(limits)}, and ${what} is outside of that.`
  return new ForbiddenError('outside_token_limits', message, {
    hint:
      'An admin makes another: ' +
      'holdfast token create --scope SCOPE --repo OWNER/NAME --type TYPE.',
  })
}

/** A job without a repository, from a token that is limited to repositories. */
export function namesNoRepository(limits: TokenLimits): ForbiddenError {
  const { repositories } = limits
  const [only, ...more] = repositories ?? []
  const isOne = only !== undefined && more.length === 0 && !isNameStart(only.pattern)
  const repo = isOne ? only.pattern : 'OWNER/NAME'
  const message =
    `This token is limited to ${limitWords({ repositories, types: null })}, and this job names ` +
    'no repository.'
  return new ForbiddenError('outside_token_limits', message, {
    hint: `Name it: --repo ${repo} (over HTTP: "repo": "${repo}").`,
  })
}

function tooWide(limits: TokenLimits): ForbiddenError {
  const message =
    'This shows or changes things of all repositories and types, and this token is limited to ' +
    `${limitWords(limits)}.`
  return new ForbiddenError('outside_token_limits', message, {
    hint: 'Ask about single runs (/v1/runs/{id}, …/audit, …/why), or use a token without limits.',
  })
}

function forbidden(scopes: readonly Scope[], caller: Caller): ForbiddenError {
  if (caller.kind === 'run' && scopes.includes('run')) {
    return new ForbiddenError('forbidden', 'A run token reaches only its own run.')
  }
  const wanted = ['admin', ...scopes.filter((scope) => scope !== 'run')]
  const held = caller.kind === 'token' ? `has the scope ${caller.scope}` : 'is a run token'
  const listed = wanted.join(', ').replace(/, ([^,]*)$/, ' or $1')
  const message = `This needs a token with the scope ${listed}; yours ${held}.`
  return new ForbiddenError('forbidden', message, {
    hint: 'An admin makes tokens: holdfast token create --scope SCOPE, or POST /v1/tokens.',
  })
}
