/**
 * Makes a token, through a server or straight in the database. The token alone is printed on
 * standard output, so that a script can take it.
 */
import { tokenBody } from '../http/contract/tokens.ts'
import { makeSecret, scopedToken } from '../secrets.ts'
import { makeDatabaseFolder } from '../settings/first-start.ts'
import { loadSettings } from '../settings/load-settings.ts'
import { UsageError } from './failure.ts'
import { bearerFor, postJson, serverAddress } from './server-client.ts'
import { storeFailure } from './store-failure.ts'
import type { World } from './world.ts'

export interface CreateTokenRequest {
  readonly scope: string | undefined
  readonly name: string | undefined
  readonly userId: string | undefined
  readonly json: boolean
  readonly url: string | undefined
  readonly token: string | undefined
  readonly config: string | undefined
  /** Settings that find the database. */
  readonly flags: Readonly<Record<string, string>>
}

interface Wanted {
  readonly scope: string
  readonly name?: string | undefined
  readonly user_id?: number | undefined
}

interface Created {
  readonly id: string
  readonly token: string
}

export async function createToken(world: World, request: CreateTokenRequest): Promise<void> {
  const wanted = checkWanted(request)
  const created = await (request.url === undefined
    ? inDatabase(world, request, wanted)
    : throughServer(world, request, wanted, request.url))
  const { id, token } = created
  const answer = request.json ? JSON.stringify({ id, token, scope: wanted.scope }) : token
  world.terminal.out(`${answer}\n`)
  world.terminal.err(`Made ${id} with scope ${wanted.scope}. The token is shown only now.\n`)
}

const flagOfField: Readonly<Record<string, string>> = {
  scope: '--scope',
  name: '--name',
  user_id: '--user-id',
}

function checkWanted({ scope, name, userId }: CreateTokenRequest): Wanted {
  if (scope === undefined) {
    throw new UsageError('--scope is missing: admin, operator, worker, read or bot:CHANNEL')
  }
  // Digits only: Number() would also take "1e3" and " ".
  const user = userId !== undefined && /^[0-9]+$/.test(userId) ? Number(userId) : userId
  const parsed = tokenBody.safeParse({ scope, name, user_id: user })
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) => {
    const flag = flagOfField[String(path[0])] ?? String(path[0])
    return flag === '--user-id' ? '--user-id must be a positive whole number' : `${flag} ${message}`
  })
  throw new UsageError([...new Set(problems)].join('; '))
}

async function throughServer(
  world: World,
  request: CreateTokenRequest,
  wanted: Wanted,
  url: string,
): Promise<Created> {
  if (Object.keys(request.flags).length > 0 || request.config !== undefined) {
    throw new UsageError('--url asks a server, so flags that find a database do not go with it')
  }
  const server = serverAddress(url)
  const bearer = bearerFor(world, request.token)
  const answer = await postJson(world, { server, path: '/v1/tokens', bearer, body: wanted })
  const { id, token } = (answer ?? {}) as Partial<Created>
  if (typeof id !== 'string' || typeof token !== 'string') {
    throw new Error(`${server} answered without a token; is it a Holdfast server?`)
  }
  return { id, token }
}

async function inDatabase(
  world: World,
  request: CreateTokenRequest,
  wanted: Wanted,
): Promise<Created> {
  if (request.token !== undefined) {
    throw new UsageError('--token is for a server; give --url as well, or leave it out')
  }
  const { flags, config } = request
  const settings = await loadSettings({ flags, config, env: world.env, cwd: world.cwd })
  if (settings.database.kind === 'sqlite') {
    if (settings.database.path === ':memory:') {
      throw new UsageError(
        'A database in memory belongs to the process that serves it',
        'Ask that server: --url http://HOST:PORT',
      )
    }
    await makeDatabaseFolder(settings)
  }
  const { clock, random, scheduler } = world
  const seams = { clock, random, scheduler }
  const store = await world.openStore(settings, seams).catch((error: unknown) => {
    throw storeFailure(error, settings, world.env)
  })
  try {
    const { token, secret } = await store.createToken(
      {
        scope: wanted.scope,
        name: wanted.name ?? null,
        userId: wanted.user_id ?? null,
        secret: makeSecret(random),
        actor: 'cli',
      },
      null,
    )
    return { id: token.id, token: scopedToken(token.id, secret) }
  } finally {
    await store.close()
  }
}
