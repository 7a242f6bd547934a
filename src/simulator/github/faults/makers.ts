/** The faults of GitHub and of the network, each with what happens to request and answer. */
import { Refusal } from '../refusal.ts'
import { limitsPage, secondaryLimit as secondaryRefusal, type LimitForm } from '../rate-limit.ts'
import type { Json } from '../json/json.ts'
import { answered, type Fault, type Outcome } from './fault.ts'

const minuteMs = 60_000

/** GitHub does it; the connection breaks before the answer. */
export const lostAnswer = (): Fault => ({
  name: 'lost-answer',
  run: (exchange) => {
    exchange.perform()
    return { kind: 'reset' }
  },
})

/** GitHub does it; a 502 comes back. */
export const badGateway = (): Fault => ({
  name: 'bad-gateway',
  run: (exchange) => {
    const { headers } = exchange.perform()
    const page = '<html><head><title>502 Bad Gateway</title></head><body></body></html>'
    return answered({
      status: 502,
      headers: { ...pick(headers, 'date'), 'content-type': 'text/html' },
      body: page,
    })
  },
})

/** GitHub does nothing and says so with a 5xx. */
export const serverError = (status: 500 | 502 | 503 | 504 = 500): Fault => ({
  name: 'server-error',
  run: (exchange) => answered(exchange.refuse(new Refusal(status, { message: 'Server Error' }))),
})

/** GitHub does it; the answer has a good status and a body that cannot be read. */
export const brokenJson = (): Fault => ({
  name: 'broken-json',
  run: (exchange) => {
    const answer = exchange.perform()
    const body = answer.body === '' ? '{' : answer.body.slice(0, Math.ceil(answer.body.length / 2))
    return answered({ ...answer, body })
  },
})

/** The connection opens and breaks; GitHub does nothing. */
export const reset = (): Fault => ({ name: 'reset', run: () => ({ kind: 'reset' }) })

/** The connection never opens. Over a real socket the connection is reset instead. */
export const refused = (): Fault => ({
  name: 'refused',
  neverOpens: true,
  run: () => ({ kind: 'refused' }),
})

/** No answer ever comes; with `committed` GitHub does it nevertheless. */
export const hang = (options: { readonly committed?: boolean } = {}): Fault => ({
  name: 'hang',
  run: (exchange) => {
    if (options.committed === true) exchange.perform()
    return { kind: 'hang' }
  },
})

/** GitHub does it; the body comes in parts, and with `cut` breaks off in the middle. */
export const slowBody = (
  options: { readonly parts?: number; readonly pauseMs?: number; readonly cut?: boolean } = {},
): Fault => ({
  name: 'slow-body',
  run: (exchange) => ({
    kind: 'slow-body',
    answer: exchange.perform(),
    parts: options.parts ?? 10,
    pauseMs: options.pauseMs ?? 2000,
    cut: options.cut ?? false,
  }),
})

/** GitHub does it at once; its answer takes a while. */
export const lateAnswer = (afterMs: number): Fault => ({
  name: 'late-answer',
  run: (exchange) => {
    const answer = exchange.perform()
    return new Promise<Outcome>((resolve) => {
      exchange.scheduler.after(afterMs, () => resolve(answered(answer)))
    })
  },
})

/** Lists leave out what is younger than `forMs`. Lasts until it is removed. */
export const listLag = (forMs: number): Fault => ({
  name: 'list-lag',
  times: Infinity,
  run: (exchange) => answered(exchange.perform({ lagMs: forMs })),
})

/**
 * One request is refused by a secondary limit: with a `retry-after` header, without it (`plain`),
 * or with nothing but a message (`bare`).
 */
export const secondaryLimit = (
  options: { readonly form?: LimitForm; readonly retryAfterSeconds?: number } = {},
): Fault => ({
  name: 'secondary-limit',
  run: (exchange) => {
    const waitMs = (options.retryAfterSeconds ?? 60) * 1000
    return answered(exchange.refuse(secondaryRefusal(options.form ?? 'retry-after', waitMs)))
  },
})

/** One request is answered 429. */
export const tooMany = (options: { readonly retryAfterSeconds?: number } = {}): Fault => ({
  name: 'too-many',
  run: (exchange) => {
    const body = {
      message: 'You have exceeded a secondary rate limit.',
      documentation_url: limitsPage,
    }
    const headers = { 'retry-after': String(options.retryAfterSeconds ?? 60) }
    return answered(exchange.refuse(new Refusal(429, body, headers)))
  },
})

/** From this request on the hourly quota is used up, until it is reset. */
export const primaryExhausted = (options: { readonly forMs?: number } = {}): Fault => ({
  name: 'primary-exhausted',
  run: (exchange) => {
    exchange.exhaust(options.forMs ?? 10 * minuteMs)
    return answered(exchange.perform())
  },
})

/** From this request on every request of the same identity is refused for `forMs`. */
export const blocked = (
  options: { readonly forMs?: number; readonly form?: LimitForm } = {},
): Fault => ({
  name: 'blocked',
  run: (exchange) => {
    exchange.block(options.forMs ?? minuteMs, options.form ?? 'retry-after')
    return answered(exchange.perform())
  },
})

/** From this request on all tokens made before are invalid. */
export const tokenExpired = (): Fault => ({
  name: 'token-expired',
  run: (exchange) => {
    exchange.expireTokens()
    return answered(exchange.perform())
  },
})

/**
 * The request is held on its way. It takes effect after `afterMs`, or when its handle is released,
 * whether or not the sender still waits for the answer.
 */
export function delayedCommit(options: { readonly afterMs?: number } = {}): Fault {
  const held = new Set<() => void>()
  return {
    name: 'delayed-commit',
    run: (exchange) =>
      new Promise<Outcome>((resolve) => {
        const proceed = (): void => {
          if (held.delete(proceed)) resolve(answered(exchange.perform()))
        }
        held.add(proceed)
        if (options.afterMs !== undefined) exchange.scheduler.after(options.afterMs, proceed)
      }),
    release: () => {
      for (const proceed of [...held]) proceed()
    },
  }
}

/** GitHub does nothing and gives this answer. */
export const refuse = (
  status: number,
  body: Json = { message: 'Refused' },
  headers: Readonly<Record<string, string>> = {},
): Fault => ({
  name: `refuse-${status}`,
  run: (exchange) => answered(exchange.refuse(new Refusal(status, body, headers))),
})

function pick(headers: Readonly<Record<string, string>>, name: string): Record<string, string> {
  const value = headers[name]
  return value === undefined ? {} : { [name]: value }
}
