/** `holdfast token`: create, list and revoke tokens. */
import { listAction } from '../output/list-action.ts'
import type { Command } from 'commander'
import { tokensQuery } from '../../http/contract.ts'
import { addConnectionFlags, textOf, type Parsed } from '../connection/connection.ts'
import { withHint } from '../failure.ts'
import { withOperations } from '../operations/open-operations.ts'
import type { TokenView } from '../operations/operations.ts'
import { printJson } from '../output/json.ts'
import type { TableShape } from '../output/table.ts'
import { relativeTime } from '../output/time-text.ts'
import { addPageFlags, checkId, queryOf } from '../connection/query-flags.ts'
import { createToken } from './token-create.ts'
import type { World } from '../world.ts'

export function addTokenCommand(program: Command, world: World): void {
  const token = program
    .command('token')
    .summary('create, list and revoke tokens')
    .description('Tokens for workers, bots and people.')
  addCreate(token, world)
  addList(token, world)
  addDelete(token, world)
}

function addCreate(token: Command, world: World): void {
  const create = token
    .command('create')
    .summary('create a token and print it')
    .description(
      'Creates a token and prints it on standard output. It is shown only now: Holdfast keeps ' +
        'only its hash. With --url a server creates it, otherwise it is written to the database.',
    )
    .option('--scope <scope>', 'what it may do: admin, operator, worker, read or bot:CHANNEL')
    .option('--name <name>', 'whose token it is, for lists and the audit')
    .option('--user-id <number>', 'id of the recipient that it acts for')
    .option(
      '--repo <repository>',
      'only this repository, or acme/* for all of acme; repeatable',
      collect,
    )
    .option('--type <type>', 'only runs of this type; repeatable', collect)
    .option('--expires <time>', 'when it expires, such as 12h or 30d')
    .option('--json', 'print {"id","token","scope"}')
  addConnectionFlags(create)
    .addHelpText(
      'after',
      `
Examples:
  holdfast token create --scope worker --name builder-1
  holdfast token create --scope worker --repo 'acme/*' --type review --expires 30d
  holdfast token create --scope bot:telegram --json
  HOLDFAST_TOKEN_FILE=admin holdfast token create --scope read --url https://holdfast.example.com`,
    )
    .action(async (parsed: Parsed) => {
      await createToken(world, parsed, {
        scope: textOf(parsed, 'scope'),
        name: textOf(parsed, 'name'),
        userId: textOf(parsed, 'userId'),
        repos: listOf(parsed, 'repo'),
        types: listOf(parsed, 'type'),
        expires: textOf(parsed, 'expires'),
        json: parsed['json'] === true,
      })
    })
}

const collect = (text: string, all: readonly string[] = []): readonly string[] => [...all, text]

const listOf = (parsed: Parsed, name: string): readonly string[] =>
  (parsed[name] as readonly string[] | undefined) ?? []

const tokensTable: TableShape<TokenView> = {
  screen: [
    { title: 'ID', of: ({ id }) => id, below: 5 },
    { title: 'SCOPE', of: ({ scope }) => scope, style: () => 'cyan' },
    { title: 'NAME', of: ({ name }) => name ?? '', cut: 'end', least: 24 },
    {
      title: 'USER',
      of: ({ user_id: user }) => (user === null ? '' : String(user)),
      side: 'right',
      label: 'user',
      below: 2,
    },
    { title: 'ONLY FOR', of: limitText, label: 'only for', below: 4 },
    {
      title: 'LAST USED',
      of: ({ last_used_at: at }, now) => timeOr(at, now, 'never'),
      label: 'last used',
      below: 1,
    },
    {
      title: 'EXPIRES',
      of: ({ expires_at: at }, now) => timeOr(at, now, 'never'),
      label: 'expires',
      below: 1,
    },
    {
      title: 'CREATED',
      of: ({ created_at: at }, now) => relativeTime(at, now),
      style: () => 'dim',
      label: 'created',
      below: 3,
    },
  ],
  plain: [
    ['id', (token) => token.id],
    ['scope', (token) => token.scope],
    ['name', (token) => token.name],
    ['user_id', (token) => token.user_id],
    ['created_at', (token) => token.created_at],
    ['repos', (token) => token.repos?.join(' ') ?? null],
    ['types', (token) => token.types?.join(' ') ?? null],
    ['expires_at', (token) => token.expires_at],
    ['last_used_at', (token) => token.last_used_at],
  ],
}

/** `acme/*, type review` */
function limitText({ repos, types }: TokenView): string {
  return [...(repos ?? []), ...(types ?? []).map((type) => `type ${type}`)].join(', ')
}

const timeOr = (at: string | null, now: number, otherwise: string): string =>
  at === null ? otherwise : relativeTime(at, now)

function addList(token: Command, world: World): void {
  const list = token
    .command('list')
    .summary('list tokens, without their secrets')
    .description('Lists tokens, newest first, without their secrets.')
  addConnectionFlags(
    addPageFlags(list).option('--json', 'print {"items":[…],"next_cursor"}'),
  ).action(async (parsed: Parsed) => {
    const query = queryOf(tokensQuery, [], parsed)
    await listAction(world, parsed, {
      query,
      shape: tokensTable,
      noun: 'tokens',
      page: (operations, wanted) => operations.listTokens(wanted),
    })
  })
}

function addDelete(token: Command, world: World): void {
  const remove = token
    .command('delete <id>')
    .summary('revoke a token')
    .description('Revokes a token. From now on it is refused.')
    .option('--json', 'print {"id","deleted"}')
  addConnectionFlags(remove).action(async (given: string, parsed: Parsed) => {
    const id = checkId(given)
    await withOperations(world, parsed, (operations) =>
      withHint(operations.deleteToken(id), {
        token_not_found: 'List tokens: holdfast token list',
      }),
    )
    if (parsed['json'] === true) return printJson(world.terminal, { id, deleted: true })
    world.terminal.out(`${id} is revoked.\n`)
  })
}
