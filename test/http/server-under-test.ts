/** A server over the fakes, with a token of each scope and a log that tests can read. */
import { defaultRights } from '../../src/channels/github-channels.ts'
import { once } from 'node:events'
import { Agent, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import type { App } from '../../src/http/app.ts'
import { problem, type Problem } from '../../src/contract.ts'
import type { HttpDeps } from '../../src/http/deps.ts'
import { CatchUpNotes } from '../../src/intake/catch-up/catch-up-report.ts'
import { tokenToucher } from '../../src/http/access/token-touch.ts'
import { FailedAccess } from '../../src/http/access/failed-access.ts'
import { TokenWatch } from '../../src/http/access/token-watch.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { noMetrics } from '../../src/metrics.ts'
import { createEmbeddedEngine } from '../../src/open-engine.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { hashSecret, runToken, scopedToken } from '../../src/secrets.ts'
import { leaseSecret, makeFakes, startedAt, theRunId, type Fakes } from './fakes.ts'
import { seededChance } from '../seed.ts'

/** Refusals are not delayed in these tests. */
const hurried = {
  ...systemScheduler,
  after: (_ms: number, task: () => void) => systemScheduler.after(0, task),
}

export const adminToken = 'an-admin-token-of-good-length'
export const scopes = ['admin', 'operator', 'worker', 'read', 'bot:telegram'] as const
export type Scope = (typeof scopes)[number]

export interface ServerUnderTest {
  readonly server: App
  readonly deps: HttpDeps
  readonly fakes: Fakes
  readonly logged: string[]
  readonly stop: () => void
}

export function serverUnderTest(): ServerUnderTest {
  const fakes = makeFakes()
  for (const scope of scopes) {
    const id = tokenId(scope)
    fakes.tokens.set(id, {
      id,
      scope,
      name: null,
      userId: null,
      limits: { repositories: null, types: null },
      createdAt: startedAt,
      expiresAt: null,
      lastUsedAt: null,
      secretHash: hashSecret('secret'),
    })
  }
  const logged: string[] = []
  const stopping = new AbortController()
  const deps: HttpDeps = {
    runs: fakes.runs,
    intake: fakes.intake,
    store: fakes.store,
    metrics: noMetrics,
    metricsPage: { contentType: 'text/plain', text: async () => '' },
    queueHealth: () => createEmbeddedEngine(systemScheduler).health(),
    auditFeed: fakes.auditFeed,
    githubTokens: fakes.githubTokens,
    adminTokenHash: hashSecret(adminToken),
    checkIsOurs: async () => undefined,
    budgetLimits: { spacingMs: 1000, perMinute: 80, perHour: 0 },
    publishRights: () => defaultRights,
    isOurHost: () => true,
    failedAccess: new FailedAccess(fakes.store, hurried, pino({ level: 'silent' })),
    trustedProxies: null,
    touchToken: tokenToucher(fakes.store, { monotonicMs: () => 0 }, pino({ level: 'silent' })),
    tokenWatch: new TokenWatch(fakes.store, systemScheduler),
    clock: { wallMs: () => startedAt, monotonicMs: () => 0 },
    random: seededChance(),
    scheduler: systemScheduler,
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
    version: '1.2.3',
    sandbox: true,
    catchUp: () => Promise.resolve(new CatchUpNotes(() => false).report()),
    doctor: () =>
      Promise.resolve({
        ok: true,
        findings: [{ check: 'store', level: 'ok', detail: 'fine', remedy: null }],
      }),
    stopping: stopping.signal,
  }
  const server = createHttpServer(deps)
  return { server, deps, fakes, logged, stop: () => stopping.abort() }
}

const tokenId = (scope: Scope): string => `tok_${scope.replace(':', '_')}`

export const tokenOf = (scope: Scope): string => scopedToken(tokenId(scope), 'secret')
export const theRunToken = runToken(theRunId, leaseSecret)

export const bearer = (token: string): { authorization: string } => ({
  authorization: `Bearer ${token}`,
})

/** Sends a request with the admin's token, unless `headers` has another. */
export function ask(server: App, options: InjectOptions): Promise<LightMyRequestResponse> {
  return server.inject({ ...options, headers: { ...bearer(adminToken), ...options.headers } })
}

export interface Answer {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders | LightMyRequestResponse['headers']
  readonly body: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/**
 * The same over a socket, with an unchanged path, because `inject` normalizes paths and queries.
 */
export async function askBySocket(server: App, options: SocketRequest): Promise<Answer> {
  if (!server.server.listening) await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  const sent = request({
    agent,
    port,
    host: '127.0.0.1',
    method: options.method,
    path: options.path,
    headers: bearer(adminToken),
  }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const { statusCode = 0, headers } = answer
  return { statusCode, headers, body: await text(answer) }
}

export interface SocketRequest {
  readonly method: string
  readonly path: string
}

/** Returns the answer's problem document, after checking what every problem must have. */
export function problemOf(answer: Answer): Problem {
  const type = answer.headers['content-type']
  if (type !== 'application/problem+json; charset=utf-8') {
    throw new Error(`no problem but ${answer.statusCode} ${type}: ${answer.body.slice(0, 300)}`)
  }
  const document = problem.parse(JSON.parse(answer.body))
  if (document.status !== answer.statusCode) throw new Error('the document has another status')
  if (document.request_id !== answer.headers['x-request-id']) throw new Error('another request id')
  if (!/^[a-z][a-z0-9_]+$/.test(document.code)) throw new Error(`a code like ${document.code}`)
  return document
}

export const aClaim = {
  repo: 'Acme/Widgets',
  pr: 5,
  base_sha: 'A'.repeat(40),
  head_sha: 'b'.repeat(40),
}
