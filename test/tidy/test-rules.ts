/**
 * Rules about tests: every test runs wherever the tests run, or says why not, and what it covers
 * depends neither on chance nor on the machine.
 */
import ts from 'typescript'
import { findingAt, nodesOf, type Finding, type Rule, type Source } from './source.ts'

const testFunctions = ['it', 'test', 'describe', 'suite']
const partialRuns = ['skip', 'only', 'todo', 'runIf', 'skipIf', 'fails']

/** A test may skip itself on a machine that lacks something, with the reason: `skip('needs …')`. */
export const everyTestRuns: Rule = (source) =>
  nodesOf(source).flatMap((node) => {
    if (isSilentSkip(node)) {
      return [findingAt(source, node, 'skip() without a reason; say what is missing, or fail')]
    }
    if (!ts.isPropertyAccessExpression(node) || !partialRuns.includes(node.name.text)) return []
    const named = rootOf(node)
    if (!testFunctions.includes(named)) return []
    return [findingAt(source, node, `${named}.${node.name.text}: every test runs; fix it`)]
  })

function isSilentSkip(node: ts.Node): boolean {
  if (!ts.isCallExpression(node) || node.arguments.length > 0) return false
  const { expression: called } = node
  return ts.isPropertyAccessExpression(called) && called.name.text === 'skip'
}

/** The `it` of `it.concurrent.skip`. */
function rootOf(node: ts.PropertyAccessExpression): string {
  const { expression } = node
  if (ts.isPropertyAccessExpression(expression)) return rootOf(expression)
  return ts.isIdentifier(expression) ? expression.text : ''
}

const ownSeed = 'take it from test/seed.ts'
const casesByChance = ['fc.assert', 'fc.check', 'fc.sample']

/** Names that only have to differ may be random. What is tried, and when, may not. */
export const chanceHasASeed: Rule = (source) => {
  if (!/\.test\.ts$|\.suite\.ts$|^test\//.test(source.path)) return []
  return nodesOf(source).flatMap((node) => chanceAt(source, node))
}

function chanceAt(source: Source, node: ts.Node): Finding[] {
  if (ts.isPropertyAccessExpression(node) && node.getText(source.syntax) === 'Math.random') {
    return [findingAt(source, node, `Math.random has no seed; ${ownSeed}`)]
  }
  if (ts.isPropertyAssignment(node) && node.name.getText(source.syntax) === timeLimit) {
    const remedy = 'give numRuns, or a slow machine tries less'
    return [findingAt(source, node, `${timeLimit} ends by the clock; ${remedy}`)]
  }
  if (isHalfSeeded(node)) {
    return [findingAt(source, node, 'its clock is ours and its chance is not; use seededChance()')]
  }
  if (!ts.isCallExpression(node)) return []
  const called = node.expression.getText(source.syntax)
  if (!casesByChance.includes(called) || node.arguments.some(hasSeed)) return []
  return [findingAt(source, node, `${called} without a seed; ${ownSeed}`)]
}

/**
 * Even if the test controls time, random numbers of the machine would decide when things happen.
 */
function isHalfSeeded(node: ts.Node): boolean {
  if (!ts.isObjectLiteralExpression(node)) return false
  const given = new Map(
    node.properties.flatMap((property) => {
      if (ts.isShorthandPropertyAssignment(property)) return [[property.name.text, '']]
      if (!ts.isPropertyAssignment(property)) return []
      return [[property.name.getText(), property.initializer.getText()]]
    }),
  )
  const hasOwnTime = given.has('clock') && given.get('clock') !== 'systemClock'
  return hasOwnTime && given.get('random') === 'systemRandom'
}

const timeLimit = 'interruptAfterTimeLimit'

function hasSeed(argument: ts.Expression): boolean {
  if (!ts.isObjectLiteralExpression(argument)) return false
  return argument.properties.some(({ name }) => name !== undefined && name.getText() === 'seed')
}
