/**
 * Which way imports go in src/. A unit test beside its file may import what it likes.
 *
 * domain ← ports ← implementations ← compose: only src/open-store.ts names a concrete store.
 */
import { posix } from 'node:path'
import ts from 'typescript'
import { findingAt, isTest, nodesOf, type Rule, type Source } from './source.ts'

interface Direction {
  /** Files the rule is about: a folder with a slash at the end, or a file. */
  readonly from: readonly string[]
  /** All that they may import; a trailing slash or colon means everything below. */
  readonly only: readonly string[]
  readonly fix: string
}

const directions: readonly Direction[] = [
  {
    from: ['src/domain/'],
    only: ['src/domain/'],
    fix: 'domain is pure: pass what it needs as a value, or move this file out of src/domain',
  },
  {
    from: [
      'src/store.ts',
      'src/store/',
      'src/engine.ts',
      'src/channel.ts',
      'src/executor.ts',
      'src/head-source.ts',
      'src/metrics.ts',
    ],
    only: ['src/domain/', 'src/store.ts', 'src/store/'],
    fix: 'a port speaks only the domain: move the type it needs to src/domain',
  },
  {
    from: ['src/stores/'],
    only: [
      ...['src/domain/', 'src/stores/', 'src/store.ts', 'src/errors.ts', 'src/ids.ts'],
      'src/store/',
      ...['src/secrets.ts', 'src/clock.ts', 'src/random.ts', 'src/scheduler.ts'],
      ...['src/background-loop.ts', 'src/marker-keys.ts'],
      ...['pg', 'node:'],
    ],
    fix: 'a store knows the domain and its port only: take the rest as an argument',
  },
  {
    from: ['src/channels/'],
    only: [
      ...['src/domain/', 'src/channels/', 'src/channel.ts', 'src/github.ts', 'src/errors.ts'],
      ...['src/github/errors.ts', 'src/secrets.ts', 'src/hide-secrets.ts', 'src/validation/'],
      ...['src/invisible-text.ts', 'src/shown-text.ts'],
      ...['node:crypto', 'zod'],
    ],
    fix: 'a channel knows its port, and GitHub by its port alone: take the rest as an argument',
  },
  {
    from: ['src/outbox/'],
    only: [
      ...['src/domain/', 'src/outbox/', 'src/channels/', 'src/channel.ts', 'src/store.ts'],
      ...['src/store/', 'src/github.ts', 'src/github/errors.ts', 'src/errors.ts'],
      ...['src/learn-rename.ts', 'src/background-loop.ts', 'src/clock.ts', 'src/scheduler.ts'],
      ...['src/log.ts', 'src/metrics.ts'],
    ],
    fix: 'nothing downstream calls upstream: put what both need beside the ports, in src/',
  },
  {
    from: ['src/simulator/'],
    // How a misspelt option is told is no behaviour that is tested here.
    only: [
      ...['src/simulator/', 'src/clock.ts', 'src/random.ts', 'src/scheduler.ts', 'node:'],
      'src/validation/nearest.ts',
    ],
    fix: 'the simulator must not share the mistakes of what it tests: it knows nothing of it',
  },
]

const dialectHomes = ['src/stores/', 'src/settings/', 'src/open-store.ts']

interface Import {
  readonly node: ts.Node
  /** A path from the repository's root for our own files, else the name as written. */
  readonly target: string
}

export function importsOf(source: Source): Import[] {
  return nodesOf(source).flatMap((node) => {
    const specifier = specifierOf(node)
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return []
    const { text } = specifier
    const isOwn = text.startsWith('.')
    const target = isOwn ? posix.join(posix.dirname(source.path), text) : text
    return [{ node, target }]
  })
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isImportTypeNode(node)) {
    return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined
  }
  const isDynamic =
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
  return isDynamic ? node.arguments[0] : undefined
}

const within = (places: readonly string[], path: string): boolean =>
  places.some((place) => (/[/:]$/.test(place) ? path.startsWith(place) : path === place))

const isProduct = (path: string): boolean => path.startsWith('src/') && !isTest(path)

export const importDirection: Rule = (source) => {
  if (!isProduct(source.path)) return []
  return directions
    .filter(({ from }) => within(from, source.path))
    .flatMap(({ only, fix }) =>
      importsOf(source)
        .filter(({ target }) => !within(only, target))
        .map(({ node, target }) => findingAt(source, node, `imports ${target}; ${fix}`)),
    )
}

export const storesAreNamedOnce: Rule = (source) => {
  if (!isProduct(source.path) || within(['src/stores/', 'src/open-store.ts'], source.path))
    return []
  return importsOf(source)
    .filter(({ target }) => target.startsWith('src/stores/'))
    .map(({ node, target }) => {
      const message = `imports ${target}; take a Store (src/store.ts), opened in src/open-store.ts`
      return findingAt(source, node, message)
    })
}

const deliveriesHome = 'src/stores/verbs/outbox/store-deliveries.ts'

/** Written past that file, a message could leave its run's line and let nobody go. */
export const deliveriesAreStoredOnce: Rule = (source) => {
  if (!isProduct(source.path) || source.path === deliveriesHome) return []
  return nodesOf(source)
    .filter((node) => ts.isImportSpecifier(node) && node.name.text === 'writeDeliveries')
    .map((node) => {
      const message = `imports writeDeliveries; call storeDeliveries (${deliveriesHome})`
      return findingAt(source, node, message)
    })
}

export const dialectsStayHome: Rule = (source) => {
  if (!isProduct(source.path) || within(dialectHomes, source.path)) return []
  return importsOf(source)
    .filter(({ target }) => /sqlite|postgres|\bpg\b/.test(target))
    .map(({ node, target }) => {
      const message = `imports ${target}; a database's name belongs in ${dialectHomes.join(', ')}`
      return findingAt(source, node, message)
    })
}
