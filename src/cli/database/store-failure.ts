/**
 * Says why the store could not be opened, with the place and the remedy. The store knows only the
 * error. This file also knows which setting names the database. No text contains a password.
 */
import { HoldfastError, SetupError, StoreUnavailableError } from '../../errors.ts'
import { deniedWords, isDenied } from '../../settings/data-folder/denied.ts'
import type { Environment } from '../../settings/environment.ts'
import { options } from '../../settings/options/options.ts'
import type { Settings } from '../../settings/settings.ts'

/** `setting`: the setting or flag that names the database. */
export function storeFailure(
  error: unknown,
  { database }: Pick<Settings, 'database'>,
  env: Environment,
  setting: string = options.databaseUrl.env,
): unknown {
  if (database.kind === 'postgres') {
    return error instanceof StoreUnavailableError
      ? serverFailure(error, serverOf(database.url, env), setting)
      : error
  }
  const code = (error as NodeJS.ErrnoException | null)?.code
  if (error instanceof HoldfastError || code === undefined) return error
  if (isDenied(error)) {
    const { message, hint } = deniedWords(database.path)
    return new SetupError('store_unusable', message, { hint, cause: error })
  }
  const why = error instanceof Error ? error.message : code
  return new SetupError('store_unusable', `Could not open the database ${database.path}: ${why}`, {
    hint: `Give the user of Holdfast access to it, or choose another with ${setting}.`,
    cause: error,
  })
}

interface Server {
  readonly place: string
  readonly host: string
  readonly port: string
  readonly name: string
  readonly user: string
  readonly password: string
}

/** Like the driver: from the address, else from PostgreSQL's variables, else its defaults. */
function serverOf(text: string, env: Environment): Server {
  const url = URL.parse(text)
  const parameter = (name: string): string => url?.searchParams.get(name) ?? ''
  const user = plain(url?.username) || parameter('user') || (env['PGUSER'] ?? env['USER'] ?? '')
  const host = plain(url?.hostname) || parameter('host') || (env['PGHOST'] ?? 'localhost')
  const port = (url?.port ?? '') || parameter('port') || (env['PGPORT'] ?? '5432')
  const name = plain(url?.pathname.slice(1)) || (env['PGDATABASE'] ?? user)
  const password = plain(url?.password) || parameter('password') || (env['PGPASSWORD'] ?? '')
  const place = host.startsWith('/') ? `${host} (port ${port})` : `${host}:${port}`
  return { place, host, port, name, user, password }
}

function plain(part = ''): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

interface FailureText {
  readonly what: string
  readonly remedy: string
}

function serverFailure(
  error: StoreUnavailableError,
  server: Server,
  setting: string,
): StoreUnavailableError {
  const { cause } = error
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? ''
  const { what, remedy } = textForCode(code, server, setting) ??
    missingPassword(cause, server, setting) ?? {
      what: `Could not use PostgreSQL at ${server.place}: ${causeText(cause, server)}`,
      remedy: 'Is PostgreSQL running there?',
    }
  const coded = code === '' ? what : `${what} (${code})`
  const hint = remedy.includes(setting) ? remedy : `${remedy} Check ${setting}.`
  return new StoreUnavailableError(error.code, `${coded}; the database is "${server.name}"`, {
    hint,
    cause,
  })
}

/** The driver has this message if the server asks for a password and none was given. */
function missingPassword(
  cause: unknown,
  { place, user, password }: Server,
  setting: string,
): FailureText | null {
  const isAsked = cause instanceof Error && /password must be a string/i.test(cause.message)
  if (!isAsked || password !== '') return null
  return {
    what: `PostgreSQL at ${place} needs a password for "${user}", but none is set`,
    // A command line can be read by everybody on the machine.
    remedy: setting.startsWith('--')
      ? `Put it into PGPASSWORD or ~/.pgpass; the address is in ${setting}.`
      : `Put it into ${setting} (postgres://USER:PASSWORD@HOST/NAME) ` +
        `or into a file, and its path into ${setting}_FILE.`,
  }
}

function textForCode(
  code: string,
  { place, host, name, user }: Server,
  setting: string,
): FailureText | null {
  const server = `PostgreSQL at ${place}`
  switch (code) {
    case 'ECONNREFUSED':
      return { what: `No server listens at ${place}`, remedy: 'Is PostgreSQL running there?' }
    case 'ENOENT':
      return { what: `There is no socket in ${host}`, remedy: 'Is PostgreSQL running there?' }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        what: `No machine named ${host} was found`,
        remedy: 'Is the name right, and does this machine reach a name server?',
      }
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return {
        what: `${place} does not answer`,
        remedy: 'Is PostgreSQL running there, and does a firewall let this machine in?',
      }
    case '3D000':
      return {
        what: `${server} has no database "${name}"`,
        remedy: `Run: createdb ${name}.`,
      }
    case '28P01':
      return {
        what: `${server} rejected the password of "${user}"`,
        remedy: `Correct the user or the password in ${setting}.`,
      }
    case '28000':
      return {
        what: `${server} does not allow "${user}" to connect`,
        remedy: 'Create the user (createuser), or allow it in pg_hba.conf.',
      }
    case '42501':
      return {
        what: `${server} does not allow "${user}" to create tables`,
        remedy: `Run: GRANT CREATE ON DATABASE "${name}" TO "${user}".`,
      }
    case '53300':
      return {
        what: `${server} has no connection left`,
        remedy: 'Raise its max_connections, or stop other programs.',
      }
    case '57P03':
      return { what: `${server} is starting or stopping`, remedy: 'Try again in a moment.' }
    default:
      return null
  }
}

function causeText(cause: unknown, { password }: Server): string {
  const text = cause instanceof Error && cause.message !== '' ? cause.message : 'it gave no reason'
  return password === '' ? text : text.replaceAll(password, '***')
}
