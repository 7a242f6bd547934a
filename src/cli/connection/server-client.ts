/**
 * Asks a running server on behalf of a command. It follows no redirect, because that would send the
 * token to an address that nobody named.
 */
import { readVariable } from '../../settings/environment.ts'
import { SettingsError } from '../../settings/settings-error.ts'
import { webAddress } from '../../settings/options/value-kind.ts'
import { RefusedError, UnreachableError, UsageError } from '../failure.ts'
import type { World } from '../world.ts'

const answerMsMax = 30_000

/** The address to build paths on. `name` is where it was given. */
export function serverAddress(text: string, name = '--url'): string {
  const kind = webAddress('http://127.0.0.1:8787')
  const parsed = kind.fromText.safeParse(text)
  if (!parsed.success) throw new UsageError(`${name} must be ${kind.allowed}`)
  return parsed.data
}

/** From the flag, else HOLDFAST_TOKEN, else HOLDFAST_ADMIN_TOKEN. */
export function bearerFor(
  world: Pick<World, 'env' | 'cwd'>,
  flag: string | undefined,
  address: '--url' | 'HOLDFAST_URL',
): string {
  if (flag !== undefined) return checkBearer(flag, '--token')
  for (const name of ['HOLDFAST_TOKEN', 'HOLDFAST_ADMIN_TOKEN']) {
    const answer = readVariable(world.env, name, world.cwd, true)
    if ('problem' in answer) throw new SettingsError([answer.problem])
    if (answer.found !== null) return checkBearer(answer.found.text, name)
  }
  const isInsideRun = address === 'HOLDFAST_URL' && (world.env['HOLDFAST_RUN_ID'] ?? '') !== ''
  if (isInsideRun) {
    throw new UsageError(
      'HOLDFAST_URL is the address that the command of a run gets for its run token, and other ' +
        'tokens are not passed on to it',
      'To use the server here as well, give --token. To use the database, unset HOLDFAST_URL.',
    )
  }
  throw new UsageError(
    `${address} needs a token`,
    'Set HOLDFAST_TOKEN or HOLDFAST_ADMIN_TOKEN (or either as NAME_FILE), or give --token.',
  )
}

function checkBearer(text: string, name: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new UsageError(`${name} is not a valid token`)
  return text
}

export type QueryValues = Readonly<Record<string, string | number | undefined>>

export interface ServerRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Encoded already. */
  readonly path: string
  readonly query?: QueryValues
  readonly body?: unknown
  /** With the same key, a repeat gets the answer of the first request. */
  readonly idempotencyKey?: string
  /** Gives the request up when it aborts. */
  readonly signal?: AbortSignal
  /** How long the answer may take. Default: 30 s. */
  readonly answerMs?: number
}

export interface StreamRequest {
  readonly path: string
  readonly query: QueryValues
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export interface ServerClient {
  readonly server: string
  /** Resolves with the JSON of the answer; null if it is empty, undefined if it is not JSON. */
  ask(request: ServerRequest): Promise<unknown>
  /** For an answer whose body does not end, such as an event stream. Resolves when it begins. */
  open(request: StreamRequest): Promise<Response>
}

type ClientWorld = Pick<World, 'fetch' | 'scheduler'>

export function serverClient(world: ClientWorld, server: string, bearer: string): ServerClient {
  const headers = { authorization: `Bearer ${bearer}` }
  const at = (path: string, query: QueryValues = {}): string =>
    `${server}${path}${queryText(query)}`

  async function ask(request: ServerRequest): Promise<unknown> {
    const { method, path, query, body, idempotencyKey: key, signal: given } = request
    const { answerMs = answerMsMax } = request
    const stop = new AbortController()
    const cancel = world.scheduler.after(answerMs, () => stop.abort())
    const signal = given === undefined ? stop.signal : AbortSignal.any([stop.signal, given])
    const content = {
      headers: {
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    const init = { method, ...content, redirect: 'manual', signal } as const
    try {
      const noAnswer = unreachable(server, signal, answerMs)
      const response = await world.fetch(at(path, query), init).catch(noAnswer)
      const answer = parseJson(await response.text().catch(noAnswer))
      if (response.ok) return answer
      throw refusal(response.status, answer, server)
    } finally {
      cancel()
    }
  }

  async function open({ path, query, headers: more, signal }: StreamRequest): Promise<Response> {
    const stop = new AbortController()
    const cancel = world.scheduler.after(answerMsMax, () => stop.abort())
    const either = AbortSignal.any([stop.signal, signal])
    const init = { headers: { ...headers, ...more }, redirect: 'manual', signal: either } as const
    try {
      const noAnswer = unreachable(server, either, answerMsMax)
      const response = await world.fetch(at(path, query), init).catch(noAnswer)
      if (response.ok) return response
      throw refusal(response.status, parseJson(await response.text()), server)
    } finally {
      cancel()
    }
  }

  return { server, ask, open }
}

function queryText(query: QueryValues): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) given.set(name, String(value))
  }
  return given.size === 0 ? '' : `?${given.toString()}`
}

/** Throws what it means that there is no answer, or only the beginning of one. */
function unreachable(
  server: string,
  signal: AbortSignal,
  answerMs: number,
): (error: unknown) => never {
  return (error) => {
    const cause = (error as { readonly cause?: NodeJS.ErrnoException }).cause
    const why = signal.aborted
      ? `no answer in ${Math.round(answerMs / 100) / 10} s`
      : (cause?.code ?? 'no answer')
    throw new UnreachableError('unreachable', `${server} could not be reached: ${why}`, {
      hint: 'Is the server running, and is this its address? --url or HOLDFAST_URL names it.',
    })
  }
}

/** Null if there is nothing, undefined for anything else than JSON. */
function parseJson(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return undefined
  }
}

interface ProblemText {
  readonly title?: unknown
  readonly detail?: unknown
  readonly code?: unknown
  readonly hint?: unknown
}

/** The code of an answer that is not Holdfast's own, but of something in between. */
export const foreignAnswer = 'refused'

const otherToken =
  'Set HOLDFAST_TOKEN to a valid token, or give --token. The admin token is the value of ' +
  'HOLDFAST_ADMIN_TOKEN on the server, or is in the file admin-token of its data folder.'

function refusal(status: number, answer: unknown, server: string): Error {
  const problem = (answer ?? {}) as ProblemText
  const reason = [problem.detail, problem.title].find((text) => typeof text === 'string')
  const message = `${server} answered ${status}${reason === undefined ? '' : `: ${reason}`}`
  if (status === 502 || status === 503 || status === 504) {
    return new UnreachableError('unreachable', message)
  }
  const code = typeof problem.code === 'string' ? problem.code : foreignAnswer
  // The server names its header. On the command line the token comes from a variable or a flag.
  const given = status === 401 ? otherToken : problem.hint
  const hint = typeof given === 'string' ? { hint: given } : {}
  return new RefusedError(code, message, hint)
}
