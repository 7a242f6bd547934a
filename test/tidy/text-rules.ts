/**
 * Rules about the form of a file: its name, its length, its opening comment, and leftover words.
 */
import ts from 'typescript'
import { findingAt, findingOnLine, isTest, nodesOf, type Rule, type Source } from './source.ts'

const columnsMax = 100
const fileLinesMax = 400
const functionLinesMax = 70

/** Path → why the file may be longer. */
const longFiles: Readonly<Record<string, string>> = {}

const linesOf = (source: Source): string[] => source.text.replace(/\n$/, '').split('\n')

export const lineLength: Rule = (source) =>
  linesOf(source).flatMap((line, index) => {
    const columns = line.length
    if (columns <= columnsMax) return []
    const message = `line has ${columns} columns; break it below ${columnsMax + 1}`
    return [findingOnLine(source, index + 1, message)]
  })

export const fileLength: Rule = (source) => {
  const lines = linesOf(source).length
  if (lines <= fileLinesMax || source.path in longFiles) return []
  const message = `file has ${lines} lines; split it into its subjects (${fileLinesMax} at most)`
  return [findingOnLine(source, fileLinesMax + 1, message)]
}

/** Suites of tests are lists and may be long. Other functions may not. */
export const functionLength: Rule = (source) => {
  if (isTest(source.path)) return []
  return nodesOf(source).flatMap((node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return []
    const { line: first } = source.syntax.getLineAndCharacterOfPosition(node.getStart())
    const { line: last } = source.syntax.getLineAndCharacterOfPosition(node.getEnd())
    const lines = last - first + 1
    if (lines <= functionLinesMax) return []
    const message = `function has ${lines} lines; split it (${functionLinesMax} at most)`
    return [findingAt(source, node, message)]
  })
}

export const namesSaySomething: Rule = (source) => {
  const words = source.path.split(/[/.-]/)
  const empty = words.find((word) => /^(utils?|helpers?|common|managers?)$/i.test(word))
  if (empty === undefined) return []
  return [findingOnLine(source, 1, `"${empty}" says nothing; name the file for what it does`)]
}

export const kebabCaseNames: Rule = (source) => {
  const name = source.path.split('/').at(-1) ?? ''
  if (/^[a-z0-9]+([.-][a-z0-9]+)*$/.test(name)) return []
  return [findingOnLine(source, 1, `rename the file in kebab-case`)]
}

/** A unit test needs no opening comment, because the file beside it has one. */
export const opensWithComment: Rule = (source) => {
  if (source.path.startsWith('src/') && isTest(source.path)) return []
  const start = source.text.replace(/^#!.*\n/, '')
  if (start.startsWith('/*') || start.startsWith('//')) return []
  return [findingOnLine(source, 1, 'open the file with what it is for and what must hold')]
}

const leftoverWord = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|')})\\b`)

export const nothingLeftOver: Rule = (source) =>
  linesOf(source).flatMap((line, index) => {
    const word = leftoverWord.exec(line)?.[1]
    if (word === undefined) return []
    return [findingOnLine(source, index + 1, `${word}: do it now, or write an issue and remove it`)]
  })
