/**
 * Finds the caller of a request by its bearer token, or refuses the request.
 *
 * What must hold: a token's secret is compared by hash and in constant time. Nothing that a request
 * names is read before its token is verified. A run token is valid while its lease is the newest
 * and the run has not ended. Two requests reach the store with an older one, which decides: a
 * repeated completion, and what a holder says about a step.
 */
import type { FastifyRequest } from 'fastify'
import { isActive, revokedUntil, tokenHasEnded, type Run } from '../../domain/run.ts'
import { ConflictError } from '../../errors.ts'
import { hashSecret, parseBearer, sameHash, type ParsedBearer } from '../../secrets.ts'
import type { Caller } from '../../operations/caller.ts'
import type { HttpDeps } from '../deps.ts'
import { HttpProblem } from '../answers/problem.ts'

export function bearerOf(request: FastifyRequest): string | null {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

export async function authenticate(
  deps: Pick<HttpDeps, 'store' | 'adminTokenHash' | 'touchToken'>,
  request: FastifyRequest,
): Promise<Caller> {
  const bearer = bearerOf(request)
  if (bearer === null) throw unauthorized('This needs a bearer token.')
  const { adminTokenHash } = deps
  if (adminTokenHash !== null && sameHash(hashSecret(bearer), adminTokenHash)) {
    return { kind: 'admin', actor: 'admin' }
  }
  const parsed = parseBearer(bearer)
  const isOnlyForRuns = adminTokenHash === null
  if (parsed === null || (isOnlyForRuns && parsed.kind !== 'run')) throw new UnknownToken()
  return parsed.kind === 'scoped'
    ? await byScopedToken(deps, parsed)
    : await byRunToken(deps, parsed, request)
}

async function byScopedToken(
  { store, touchToken }: Pick<HttpDeps, 'store' | 'touchToken'>,
  { id, secret }: ParsedBearer,
): Promise<Caller> {
  const token = await store.tokens.get(id)
  if (token === null || !sameHash(hashSecret(secret), token.secretHash)) throw new UnknownToken()
  const { scope, limits, expiresAt } = token
  if (expiresAt !== null && expiresAt <= store.now()) throw unauthorized('This token has expired.')
  touchToken(id)
  return { kind: 'token', actor: `token:${id}`, scope, tokenId: id, limits, expiresAt }
}

async function byRunToken(
  { store }: Pick<HttpDeps, 'store'>,
  { id, secret }: ParsedBearer,
  request: FastifyRequest,
): Promise<Caller> {
  const run = await store.runs.get(id)
  if (run === null) throw new UnknownToken()
  const hash = hashSecret(secret)
  const repeated = run.completedLeaseHash !== null && sameHash(hash, run.completedLeaseHash)
  if (repeated && completes(request)) return runCaller(run, hash)
  const held = run.leaseHash !== null && sameHash(hash, run.leaseHash)
  const isKnown = held || wasHeldBefore(run, hash)
  const isRevoked = held && run.tokenUntil === revokedUntil
  if ((isKnown || repeated) && !isRevoked && isAboutStep(request)) return runCaller(run, hash)
  if (!isKnown) throw new UnknownToken()
  if (run.state === 'superseded') {
    throw new ConflictError('superseded', 'A newer head has taken over; this run is superseded.')
  }
  if (isActive(run)) {
    if (held && tokenHasEnded(run, store.now())) throw endedToken()
    if (held) return runCaller(run, hash)
    throw new ConflictError('lease_lost', 'The run has another holder now, or none.')
  }
  throw runHasEnded()
}

function runHasEnded(): HttpProblem {
  return new HttpProblem(401, 'unauthorized', 'The run has ended.', {
    headers: askForToken.headers,
    hint: 'Stop working: its token is no longer valid. Lease or claim the next run.',
  })
}

/**
 * What a holder says about a step reaches the store with any token of the run, because only the
 * store knows whether it counts. Refused there, it is answered as everything else: 401 if the run
 * has ended.
 */
export async function refuseIfEnded(
  { store }: Pick<HttpDeps, 'store'>,
  caller: Caller,
): Promise<void> {
  if (caller.kind !== 'run') return
  const run = await store.runs.get(caller.runId)
  if (run !== null && !isActive(run) && run.state !== 'superseded') throw runHasEnded()
}

function runCaller({ id: runId, tokenId }: Run, leaseHash: string): Caller {
  return { kind: 'run', actor: `run:${runId}`, runId, leaseHash, tokenId }
}

export function endedToken(): HttpProblem {
  return unauthorized('The token was revoked or has expired.')
}

function wasHeldBefore(run: Run, hash: string): boolean {
  return run.pastLeaseHashes.split(' ').some((past) => sameHash(hash, past))
}

/** A repeated completion gets the same answer again, because the first answer may be lost. */
function completes(request: FastifyRequest): boolean {
  return request.method === 'POST' && request.routeOptions.url === '/v1/runs/:id/complete'
}

/**
 * A result that comes after the lease was lost is still stored, if nobody began the step again:
 * what was done must not be done twice.
 */
function isAboutStep(request: FastifyRequest): boolean {
  return request.method === 'PUT' && request.routeOptions.url === '/v1/runs/:id/steps/:name'
}

function unauthorized(detail: string): HttpProblem {
  return new HttpProblem(401, 'unauthorized', detail, askForToken)
}

/** The caller may be guessing. A token that was valid once gets another error. */
export class UnknownToken extends HttpProblem {
  constructor() {
    super(401, 'unauthorized', 'The bearer token is unknown.', askForToken)
  }
}

const askForToken = {
  headers: { 'www-authenticate': 'Bearer' },
  hint:
    'Send a token as "Authorization: Bearer TOKEN". The admin token is what ' +
    'HOLDFAST_ADMIN_TOKEN says, else it is in the file admin-token of the data folder; ' +
    '"holdfast token create --scope SCOPE" makes others.',
}
