/**
 * What a token that is limited to repositories or types reaches. A route says how it keeps within
 * the limits; one that says nothing is closed to limited tokens, so that forgetting fails closed.
 */
import type { FastifyRequest } from 'fastify'
import type { Run } from '../domain/run.ts'
import type { RepositoryPlace, TokenLimits } from '../domain/token-limits.ts'
import { limitWords, reachesRepository, reachesType } from '../domain/token-limits.ts'
import type { Principal } from './access.ts'
import type { ClaimRequest } from '../runs/runs.ts'
import type { StorePart } from '../store.ts'
import { HttpProblem } from './problem.ts'

/**
 * `run` and `delivery`: what the path names has to be within the limits. `itself`: the route passes
 * the limits on, or shows nothing that belongs to anybody.
 */
export type Within = 'run' | 'delivery' | 'itself'

declare module 'fastify' {
  interface FastifyContextConfig {
    within?: Within
  }
}

type ReachStore = StorePart<{
  runs: 'get' | 'subject'
  repositories: 'names' | 'named'
  outbox: 'delivery'
}>

/** Undefined when the caller reaches everything its scope does. */
export function limitsOf(principal: Principal): TokenLimits | undefined {
  if (principal.kind !== 'token') return undefined
  const { repositories, types } = principal.limits
  return repositories === null && types === null ? undefined : principal.limits
}

/** Rejects when the request is for something outside the limits of its token. */
export async function checkReach(
  store: ReachStore,
  principal: Principal,
  request: FastifyRequest,
): Promise<void> {
  const limits = limitsOf(principal)
  if (limits === undefined) return
  const { within } = request.routeOptions.config
  if (within === undefined) throw tooWide(limits)
  const { id } = request.params as { readonly id?: string }
  if (id === undefined || within === 'itself') return
  const runId = within === 'run' ? id : (await store.outbox.delivery(id))?.runId
  // What is no run's is in nobody's limits.
  if (runId === null) throw tooWide(limits)
  if (runId !== undefined) await checkRun(store, limits, runId)
}

/** A run that is not there is for the route to speak of. */
export async function checkRun(
  store: ReachStore,
  limits: TokenLimits,
  runId: string,
): Promise<void> {
  const run = await store.runs.get(runId)
  if (run === null) return
  const fits = reachesType(limits, run.type) && reachesRepository(limits, await placeOf(store, run))
  if (!fits) throw outside(limits, `run ${runId}`)
}

async function placeOf(store: ReachStore, run: Run): Promise<RepositoryPlace | null> {
  const scope = (await store.runs.subject(run.subjectId))?.scope ?? ''
  const name = (await store.repositories.names([scope])).get(scope)
  return name === undefined ? null : { id: scope, name }
}

/**
 * The claim as a limited token may make it, by what its repository's name means now. It teaches
 * nothing about names: with the id of another repository it would reach that one, or be written to
 * it. So the id has to be the one that is known; where none is known yet, the name alone counts.
 */
export async function claimWithin(
  store: ReachStore,
  limits: TokenLimits,
  claim: ClaimRequest,
): Promise<ClaimRequest> {
  const { type, repo, repoId } = claim
  const name = repo?.toLowerCase()
  const known = name === undefined ? null : await store.repositories.named(name)
  const place = name === undefined ? null : (known ?? { id: null, name })
  if (!reachesType(limits, type) || !reachesRepository(limits, place)) {
    throw outside(limits, `a run of the type ${type}${repo === undefined ? '' : ` in ${repo}`}`)
  }
  if (limits.repositories === null || repoId === undefined) return claim
  const githubId = known?.githubId ?? null
  if (githubId === null) return { ...claim, repoId: undefined }
  if (githubId === repoId) return claim
  throw outside(limits, `repo_id ${repoId} is not known as ${repo ?? ''}, so it`)
}

function outside(limits: TokenLimits, what: string): HttpProblem {
  const detail = `This token is limited to ${limitWords(limits)}, and ${what} is outside of that.`
  return new HttpProblem(403, 'outside_token_limits', detail, { hint })
}

function tooWide(limits: TokenLimits): HttpProblem {
  const detail =
    `This shows or changes things of all repositories and types, and this token is limited to ` +
    `${limitWords(limits)}.`
  return new HttpProblem(403, 'outside_token_limits', detail, {
    hint: 'Ask about single runs (/v1/runs/{id}, …/audit, …/why), or use a token without limits.',
  })
}

const hint =
  'An admin makes another: holdfast token create --scope SCOPE --repo OWNER/NAME --type TYPE.'
