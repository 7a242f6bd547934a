/**
 * Creates a token, through a server or directly in the database. Only the token is printed on
 * standard output, so that a script can read it.
 */
import { tokenBody } from '../../contract/tokens.ts'
import { clauses } from '../../texts/sentences.ts'
import type { Parsed } from '../connection/connection.ts'
import { UsageError } from '../failure.ts'
import { withOperations } from '../operations/open-operations.ts'
import type { TokenBody } from '../../contract.ts'
import { printNote } from '../output/fit-text.ts'
import { printJson } from '../output/json.ts'
import type { World } from '../world.ts'

export interface CreateTokenRequest {
  readonly scope: string | undefined
  readonly name: string | undefined
  readonly userId: string | undefined
  readonly repos: readonly string[]
  readonly types: readonly string[]
  readonly expires: string | undefined
  readonly json: boolean
}

export async function createToken(
  world: World,
  parsed: Parsed,
  request: CreateTokenRequest,
): Promise<void> {
  const body = checkRequest(request, world.clock.wallMs())
  const { id, token } = await withOperations(
    world,
    parsed,
    (operations) => operations.createToken(body),
    { makeDatabase: true },
  )
  const { scope } = body
  if (request.json) printJson(world.terminal, { id, token, scope })
  else world.terminal.out(`${token}\n`)
  const note = `Created ${id} with scope ${scope}. The token is shown only now.\n`
  printNote(world.terminal, note)
}

const flagOfField: Readonly<Record<string, string>> = {
  scope: '--scope',
  name: '--name',
  user_id: '--user-id',
  repos: '--repo',
  types: '--type',
  expires_at: '--expires',
}

const unitsMs: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

function checkRequest(request: CreateTokenRequest, now: number): TokenBody {
  const { scope, name, userId, repos, types } = request
  if (scope === undefined) {
    throw new UsageError('--scope is missing: admin, operator, worker, read or bot:CHANNEL')
  }
  // Digits only: Number() would also take "1e3" and " ".
  const user = userId !== undefined && /^[0-9]+$/.test(userId) ? Number(userId) : userId
  const parsed = tokenBody.safeParse({
    scope,
    name,
    user_id: user,
    ...(repos.length > 0 && { repos }),
    ...(types.length > 0 && { types }),
    ...(request.expires !== undefined && { expires_at: expiryOf(request.expires, now) }),
  })
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) => {
    const flag = flagOfField[String(path[0])] ?? String(path[0])
    return flag === '--user-id' ? '--user-id must be a positive whole number' : `${flag} ${message}`
  })
  throw new UsageError(clauses([...new Set(problems)]))
}

/** The time at which the token expires, for a text such as `30d`. */
function expiryOf(text: string, now: number): string {
  const [, count, unit] = /^([1-9][0-9]{0,5})([mhdw])$/.exec(text) ?? []
  const ms = Number(count) * (unitsMs[unit ?? ''] ?? Number.NaN)
  if (Number.isNaN(ms)) {
    throw new UsageError('--expires must be a time like 30d: a number and m, h, d or w')
  }
  return new Date(now + ms).toISOString()
}
