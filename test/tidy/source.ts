/**
 * What the tidy rules read: the path, text and syntax of one source file, and the form of a
 * finding. Rules are pure functions of a Source, so that each can be tested with a sample text.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export interface Source {
  /** From the repository's root, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly syntax: ts.SourceFile
}

/** `path:line what is wrong; what to do instead`. */
export type Finding = string

export type Rule = (source: Source) => Finding[]

export const repository = join(import.meta.dirname, '..', '..')

export function sourceOf(path: string, text: string): Source {
  const syntax = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  return { path, text, syntax }
}

export function readSources(folders: readonly string[]): Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mjs|js)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => !file.includes('node_modules'))
      .map((file) => {
        const path = file.slice(repository.length + 1).replaceAll('\\', '/')
        return sourceOf(path, readFileSync(file, 'utf8'))
      }),
  )
}

export const isTest = (path: string): boolean => /\.(test|suite)\.ts$/.test(path)

export function findingAt(source: Source, node: ts.Node, message: string): Finding {
  const { line } = source.syntax.getLineAndCharacterOfPosition(node.getStart(source.syntax))
  return findingOnLine(source, line + 1, message)
}

export function findingOnLine(
  source: Pick<Source, 'path'>,
  line: number,
  message: string,
): Finding {
  return `${source.path}:${line} ${message}`
}

const walked = new WeakMap<Source, readonly ts.Node[]>()

/** Every node of the file, parents before their children; found once for all rules. */
export function nodesOf(source: Source): readonly ts.Node[] {
  const cached = walked.get(source)
  if (cached !== undefined) return cached
  const nodes: ts.Node[] = []
  const add = (node: ts.Node): void => {
    nodes.push(node)
    ts.forEachChild(node, add)
  }
  add(source.syntax)
  walked.set(source, nodes)
  return nodes
}
