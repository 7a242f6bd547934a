/**
 * Says which database a program that embeds Holdfast could not reach. The store does not know its
 * address, and over HTTP nobody may learn it. No text contains the user or the password.
 */
import { StoreUnavailableError } from '../errors.ts'
import type { Settings } from '../settings/settings.ts'

/** Returns any other error as it is. */
export function withDatabase(error: unknown, { database }: Pick<Settings, 'database'>): unknown {
  if (!(error instanceof StoreUnavailableError) || error.code !== 'store_unreachable') return error
  const place = database.kind === 'postgres' ? placeOf(database.url) : null
  if (place === null) return error
  const { cause, hint } = error
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  const why = typeof code === 'string' ? ` (${code})` : ''
  const message = `the database at ${place} cannot be reached${why}`
  return new StoreUnavailableError(error.code, message, {
    ...(hint !== undefined && { hint }),
    cause,
  })
}

/** Null if the address names no host: then the driver takes one from elsewhere. */
function placeOf(address: string): string | null {
  const url = URL.parse(address)
  if (url === null) return null
  const host = decoded(url.hostname) || (url.searchParams.get('host') ?? '')
  if (host === '') return null
  const port = url.port || (url.searchParams.get('port') ?? '5432')
  return host.startsWith('/') ? `${host} (port ${port})` : `${host}:${port}`
}

function decoded(host: string): string {
  try {
    return decodeURIComponent(host)
  } catch {
    return host
  }
}
