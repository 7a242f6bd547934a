/**
 * The table "Folders, in reading order" of ARCHITECTURE.md. The import rule reads the table itself,
 * so that the two cannot differ.
 *
 * What must hold: a part names only parts above it, so that no two parts depend on each other.
 */

export interface Part {
  readonly name: string
  /** A folder with a slash at the end, or a file. */
  readonly places: readonly string[]
  /** Names of parts. */
  readonly parts: readonly string[]
  /** Single files of parts that it may otherwise not import. */
  readonly files: readonly string[]
  /** `node:*` means every module that begins so. */
  readonly packages: readonly string[]
}

const heading = '## Folders, in reading order'

export function readImportTable(markdown: string): readonly Part[] {
  const section = markdown.split(heading)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  const parts: Part[] = []
  for (const row of rows.slice(2)) parts.push(readRow(row, parts))
  if (parts.length === 0) throw new Error(`ARCHITECTURE.md has no table under "${heading}"`)
  return parts
}

function readRow(row: string, above: readonly Part[]): Part {
  const cells = row.split('|').map((cell) => cell.trim())
  const [name = '', where = '', , imports = '', packages = ''] = cells.slice(1)
  const names = above.map((part) => part.name)
  if (names.includes(name)) throw new Error(`ARCHITECTURE.md: the part ${name} has two rows`)
  const words = listed(imports.replaceAll(/`[^`]*`/g, ''))
  const parts = words.includes('everything above') ? names : words
  const unknown = parts.filter((part) => !names.includes(part))
  if (unknown.length > 0) {
    throw new Error(`ARCHITECTURE.md: ${name} names ${unknown.join(', ')}, which is not above it`)
  }
  return {
    name,
    places: quoted(where).map((place) => (place.endsWith('.ts') ? place : `${place}/`)),
    parts,
    files: quoted(imports).map((file) => `src/${file}`),
    packages: quoted(packages),
  }
}

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]*)`/g)].map(([, text]) => text!)

const listed = (cell: string): string[] =>
  cell
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '' && word !== '–')

export function partOf(table: readonly Part[], path: string): Part | undefined {
  return table.find(({ places }) => places.some((place) => isWithin(place, path)))
}

export function mayImport(table: readonly Part[], from: Part, target: string): boolean {
  if (!target.startsWith('src/')) return from.packages.some((name) => isPackage(name, target))
  const part = partOf(table, target)
  if (part === undefined) return false
  return part.name === from.name || from.parts.includes(part.name) || from.files.includes(target)
}

const isWithin = (place: string, path: string): boolean =>
  place.endsWith('/') ? path.startsWith(place) : path === place

const isPackage = (name: string, target: string): boolean =>
  name.endsWith('*') ? target.startsWith(name.slice(0, -1)) : target === name
