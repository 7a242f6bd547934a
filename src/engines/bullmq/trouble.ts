/**
 * What is wrong with Redis, in plain words, and what to do about it. Errors are told apart by their
 * code; the code of an answer of Redis is the first word of its message.
 */

export interface Trouble {
  /** One sentence without the full stop. */
  readonly text: string
  readonly remedy: string
}

const setting = 'HOLDFAST_QUEUE_URL'

/** Without user and password. */
export const hostOf = (url: string): string => new URL(url).host

export function closedTrouble(url: string): Trouble {
  return {
    text: `Redis at ${hostOf(url)} closed the connection`,
    remedy: `Is Redis running there? If it needs TLS, ${setting} begins with rediss://.`,
  }
}

export function lateTrouble(url: string): Trouble {
  const tls = url.startsWith('rediss:') ? ` If it has no TLS, ${setting} begins with redis://.` : ''
  return {
    text: `Redis at ${hostOf(url)} does not answer in time`,
    remedy: `Check the network, and what keeps that Redis busy.${tls}`,
  }
}

/** Null if the error only follows from the loss of the connection. */
export function troubleOf(error: unknown, url: string): Trouble | null {
  if (!(error instanceof Error)) return null
  const code = codeOf(error)
  return connectingTrouble(code, url) ?? refusedTrouble(code, url) ?? otherTrouble(error, code, url)
}

function codeOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code
  return /^[A-Z]{2,}\b/.exec(error.message)?.[0] ?? ''
}

function connectingTrouble(code: string, url: string): Trouble | null {
  const { host, hostname } = new URL(url)
  switch (code) {
    case 'ECONNREFUSED':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return {
        text: `No Redis can be reached at ${host} (${code})`,
        remedy: `Start Redis there, or correct ${setting}.`,
      }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        text: `The host name ${hostname} cannot be found (${code})`,
        remedy: `Correct it in ${setting}.`,
      }
    case 'ETIMEDOUT':
      return lateTrouble(url)
    default:
      return /CERT|^ERR_(SSL|TLS)|^EPROTO$/.test(code) ? tlsTrouble(code, host) : null
  }
}

const tlsTrouble = (code: string, host: string): Trouble => ({
  text: `No TLS connection to Redis at ${host} (${code})`,
  remedy:
    `Without TLS, ${setting} begins with redis://. A certificate of your own authority needs ` +
    'NODE_EXTRA_CA_CERTS.',
})

/** Redis answers, but refuses. */
function refusedTrouble(code: string, url: string): Trouble | null {
  const host = hostOf(url)
  switch (code) {
    case 'WRONGPASS':
    case 'NOAUTH':
      return {
        text: `Redis at ${host} rejects the user name or the password (${code})`,
        remedy: `Correct them in ${setting}: redis://USER:PASSWORD@HOST:PORT`,
      }
    case 'READONLY':
      return {
        text: `Redis at ${host} is a read-only replica`,
        remedy: `Set ${setting} to the primary.`,
      }
    case 'OOM':
      return {
        text: `Redis at ${host} has no memory left`,
        remedy: "Raise its maxmemory, or remove another program's data. Holdfast needs little.",
      }
    case 'MISCONF':
      return {
        text: `Redis at ${host} refuses writes, because it cannot save to its disk`,
        remedy: 'Make room on that disk. Holdfast does not need Redis to save anything.',
      }
    case 'MOVED':
    case 'CROSSSLOT':
      return {
        text: `Redis at ${host} is a Redis Cluster`,
        remedy: `Holdfast needs one Redis, without Cluster. Set ${setting} to such a one.`,
      }
    default:
      return null
  }
}

/** Errors of ioredis, most of which have no code. */
const lostConnection =
  /^ECONNRESET|^EPIPE|Connection is closed|Stream isn't writeable|max retries per|Command aborted/

function otherTrouble({ message }: Error, code: string, url: string): Trouble | null {
  const host = hostOf(url)
  if (message.startsWith('Protocol error')) {
    return {
      text: `What answers at ${host} is not Redis`,
      remedy: `Correct host and port in ${setting}; with TLS it begins with rediss://.`,
    }
  }
  if (message.startsWith('ERR invalid password')) return refusedTrouble('NOAUTH', url)
  const text = `Redis at ${host}: ${message.replace(/[\s.]+$/, '')}`
  // In a script, the code is only ERR.
  if (code === 'NOPERM' || message.includes("can't run this command")) {
    return {
      text,
      remedy: 'Allow that user all commands on keys and channels that begin with "holdfast:".',
    }
  }
  if (lostConnection.test(`${code} ${message}`)) return null
  return { text, remedy: `Fix that, or correct ${setting}.` }
}
