/**
 * Which way imports go in src/, as the table of ARCHITECTURE.md says. A unit test beside its file
 * may import what it likes. Only src/open-store.ts names a concrete store.
 */
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { mayImport, partOf, readImportTable } from './import-table.ts'
import { findingAt, isTest, nodesOf, repository, type Rule, type Source } from './source.ts'

export const importTable = readImportTable(
  readFileSync(join(repository, 'ARCHITECTURE.md'), 'utf8'),
)

const dialectHomes = ['src/stores/', 'src/settings/', 'src/open-store.ts']

interface Import {
  readonly node: ts.Node
  /** A path from the repository's root for our own files, otherwise the name as written. */
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

/** Every file belongs to a part of the table and imports only what its row names. */
export const importDirection: Rule = (source) => {
  if (!isProduct(source.path) || !source.path.endsWith('.ts')) return []
  const part = partOf(importTable, source.path)
  if (part === undefined) {
    return [`${source.path}:1 has no row in ARCHITECTURE.md, "Folders, in reading order"; add it`]
  }
  const fix =
    `the row "${part.name}" of ARCHITECTURE.md does not name it; take what you need as an ` +
    'argument, or move what both need to a part above both'
  return importsOf(source)
    .filter(({ target }) => !mayImport(importTable, part, target))
    .map(({ node, target }) => findingAt(source, node, `imports ${target}; ${fix}`))
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

/** A message that another file wrote could leave its run's line without releasing the next one. */
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
