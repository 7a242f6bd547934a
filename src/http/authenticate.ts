/**
 * From a bearer token to a principal, or to the refusal.
 *
 * What must hold: a token's secret is compared by hash and in constant time; nothing that a request
 * names is looked up before its token is known to be right; a run token is good for as long as its
 * lease is the newest and the run is not over.
 */
import type { FastifyRequest } from 'fastify'
import { isActive, tokenHasEnded, type Run } from '../domain/run.ts'
import { ConflictError } from '../errors.ts'
import { hashSecret, parseBearer, sameHash, type ParsedBearer } from '../secrets.ts'
import type { Principal } from './access.ts'
import type { HttpDeps } from './deps.ts'
import { HttpProblem } from './problem.ts'

export function bearerOf(request: FastifyRequest): string | null {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

export async function authenticate(
  deps: Pick<HttpDeps, 'store' | 'adminTokenHash' | 'touchToken'>,
  request: FastifyRequest,
): Promise<Principal> {
  const bearer = bearerOf(request)
  if (bearer === null) throw unauthorized('This needs a bearer token.')
  if (sameHash(hashSecret(bearer), deps.adminTokenHash)) return { kind: 'admin', actor: 'admin' }
  const parsed = parseBearer(bearer)
  if (parsed === null) throw new UnknownToken()
  return parsed.kind === 'scoped'
    ? await byScopedToken(deps, parsed)
    : await byRunToken(deps, parsed, request)
}

async function byScopedToken(
  { store, touchToken }: Pick<HttpDeps, 'store' | 'touchToken'>,
  { id, secret }: ParsedBearer,
): Promise<Principal> {
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
): Promise<Principal> {
  const run = await store.runs.get(id)
  if (run === null) throw new UnknownToken()
  const hash = hashSecret(secret)
  const repeated = run.completedLeaseHash !== null && sameHash(hash, run.completedLeaseHash)
  if (repeated && completes(request)) return runPrincipal(run, hash)
  const held = run.leaseHash !== null && sameHash(hash, run.leaseHash)
  if (!held && !wasHeldBefore(run, hash)) throw new UnknownToken()
  if (run.state === 'superseded') {
    throw new ConflictError('superseded', 'A newer head has taken over; this run is superseded.')
  }
  if (isActive(run)) {
    if (held && tokenHasEnded(run, store.now())) throw endedToken()
    if (held) return runPrincipal(run, hash)
    throw new ConflictError('lease_lost', 'The run has another holder, or none, by now.')
  }
  throw new HttpProblem(401, 'unauthorized', 'The run has ended.', {
    headers: askForToken.headers,
    hint: 'Stop: its token is good for nothing more. Lease or claim the next run.',
  })
}

function runPrincipal({ id: runId, tokenId }: Run, leaseHash: string): Principal {
  return { kind: 'run', actor: `run:${runId}`, runId, leaseHash, tokenId }
}

/** Also for what was held open with it. */
export function endedToken(): HttpProblem {
  return unauthorized('The token was revoked or has expired.')
}

function wasHeldBefore(run: Run, hash: string): boolean {
  return run.pastLeaseHashes.split(' ').some((past) => sameHash(hash, past))
}

/** A repeat of a run's own completion is answered like the first, whose answer may be lost. */
function completes(request: FastifyRequest): boolean {
  return request.method === 'POST' && request.routeOptions.url === '/v1/runs/:id/complete'
}

function unauthorized(detail: string): HttpProblem {
  return new HttpProblem(401, 'unauthorized', detail, askForToken)
}

/** Somebody may be guessing; a token that was right once is told apart from that. */
export class UnknownToken extends HttpProblem {
  constructor() {
    super(401, 'unauthorized', 'The bearer token is not known here.', askForToken)
  }
}

const askForToken = {
  headers: { 'www-authenticate': 'Bearer' },
  hint:
    'Send a token as "Authorization: Bearer TOKEN". The admin token is what ' +
    'HOLDFAST_ADMIN_TOKEN says, else it is in the file admin-token of the data folder; ' +
    '"holdfast token create --scope SCOPE" makes others.',
}
