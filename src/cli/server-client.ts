/**
 * Asks a running server on behalf of a command. Never follows a redirect, which would carry the
 * bearer to a place nobody named.
 */
import { readVariable } from '../settings/environment.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { webAddress } from '../settings/value-kind.ts'
import { UnreachableError, UsageError } from './failure.ts'
import type { World } from './world.ts'

const answerMsMax = 30_000

/** The address to build paths on. */
export function serverAddress(text: string): string {
  const kind = webAddress('http://127.0.0.1:8787')
  const parsed = kind.fromText.safeParse(text)
  if (!parsed.success) throw new UsageError(`--url must be ${kind.allowed}`)
  return parsed.data
}

/** From the flag, else HOLDFAST_TOKEN, else HOLDFAST_ADMIN_TOKEN. */
export function bearerFor(world: World, flag: string | undefined): string {
  if (flag !== undefined) return checkBearer(flag, '--token')
  for (const name of ['HOLDFAST_TOKEN', 'HOLDFAST_ADMIN_TOKEN']) {
    const answer = readVariable(world.env, name, world.cwd, true)
    if ('problem' in answer) throw new SettingsError([answer.problem])
    if (answer.found !== null) return checkBearer(answer.found.text, name)
  }
  throw new UsageError(
    'A server wants a token',
    'Set HOLDFAST_TOKEN or HOLDFAST_ADMIN_TOKEN (or either as NAME_FILE), or give --token.',
  )
}

function checkBearer(text: string, name: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new UsageError(`${name} is no token`)
  return text
}

export interface PostRequest {
  readonly server: string
  readonly path: string
  readonly bearer: string
  readonly body: unknown
}

export async function postJson(world: World, request: PostRequest): Promise<unknown> {
  const stop = new AbortController()
  const cancel = world.scheduler.after(answerMsMax, () => stop.abort())
  try {
    const response = await send(world, request, stop.signal)
    const answer = parseJson(await response.text())
    if (response.ok) return answer
    throw refusal(response.status, answer, request.server)
  } finally {
    cancel()
  }
}

async function send(world: World, request: PostRequest, signal: AbortSignal): Promise<Response> {
  try {
    return await world.fetch(`${request.server}${request.path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${request.bearer}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(request.body),
      redirect: 'manual',
      signal,
    })
  } catch (error) {
    const cause = (error as { readonly cause?: NodeJS.ErrnoException }).cause
    const why = signal.aborted
      ? `no answer in ${answerMsMax / 1000} s`
      : (cause?.code ?? 'no answer')
    throw new UnreachableError('unreachable', `${request.server} could not be reached: ${why}`, {
      hint: 'Is the server running, and is --url its address?',
    })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function refusal(status: number, answer: unknown, server: string): Error {
  const problem = (answer ?? {}) as { readonly title?: unknown; readonly detail?: unknown }
  const told = [problem.detail, problem.title].find((text) => typeof text === 'string')
  const message = `${server} answered ${status}${told === undefined ? '' : `: ${told}`}`
  return status === 502 || status === 503 || status === 504
    ? new UnreachableError('unreachable', message)
    : new Error(message)
}
