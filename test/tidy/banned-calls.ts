/**
 * Time, randomness, timers and the network are passed in, so that the product can run with a seed.
 * For each, only a few files may ask the machine; anywhere else in src/ the rule names what to use.
 * A plain .js file there is sent to a browser and is not part of the process.
 */
import ts from 'typescript'
import { findingAt, isTest, nodesOf, type Finding, type Rule, type Source } from './source.ts'

interface Ban {
  /** As written: `Date.now`, or a bare global such as `setTimeout`. */
  readonly names: readonly string[]
  /** Modules that give the same thing by import. */
  readonly modules?: readonly string[]
  /** The files that may use it. */
  readonly homes: readonly string[]
  readonly instead: string
}

const bans: readonly Ban[] = [
  {
    names: ['Date.now', 'performance.now', 'process.hrtime', 'process.uptime'],
    modules: ['node:perf_hooks', 'perf_hooks'],
    homes: ['src/clock.ts'],
    instead: 'take a Clock',
  },
  {
    names: [
      ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'],
      ...['process.nextTick', 'AbortSignal.timeout'],
    ],
    modules: ['node:timers', 'node:timers/promises', 'timers', 'timers/promises'],
    homes: ['src/scheduler.ts'],
    instead: 'take a Scheduler',
  },
  {
    names: [
      ...['Math.random', 'randomBytes', 'randomInt', 'randomUUID', 'randomFill'],
      ...['randomFillSync', 'getRandomValues'],
    ],
    homes: ['src/random.ts'],
    instead: 'take a Random',
  },
  {
    names: ['fetch'],
    // The entry points, which pass the real network to everything else.
    homes: [
      ...['src/connect.ts', 'src/cli/main.ts', 'src/simulator/index.ts'],
      'src/library/github-access.ts',
    ],
    instead: 'take the connection as an argument',
  },
]

export const machineIsHandedIn: Rule = (source) => {
  if (!/^src\/.*\.ts$/.test(source.path) || isTest(source.path)) return []
  return bans
    .filter((ban) => !ban.homes.includes(source.path))
    .flatMap((ban) => nodesOf(source).flatMap((node) => findingsOf(source, node, ban)))
}

function findingsOf(source: Source, node: ts.Node, ban: Ban): Finding[] {
  const used = bannedUse(node, ban)
  if (used === null) return []
  const message = `${used} outside ${ban.homes.join(', ')}; ${ban.instead} instead`
  return [findingAt(source, node, message)]
}

/** The banned name that this node uses, or null. */
function bannedUse(node: ts.Node, ban: Ban): string | null {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    const module = node.moduleSpecifier.text
    return ban.modules?.includes(module) === true ? `import of ${module}` : null
  }
  if (ts.isImportSpecifier(node)) return bannedName(ban, (node.propertyName ?? node.name).text)
  if (ts.isPropertyAccessExpression(node)) return bannedName(ban, memberName(node))
  if (isReadOfGlobal(node)) return bannedName(ban, node.text)
  if (isClockRead(node) && ban.names.includes('Date.now')) return 'new Date() of now'
  return null
}

function bannedName(ban: Ban, name: string): string | null {
  return ban.names.includes(name) ? name : null
}

/** `globalThis.fetch` and `crypto.randomUUID` are other spellings of the bare names. */
function memberName(node: ts.PropertyAccessExpression): string {
  const owner = node.expression.getText()
  if (owner === 'globalThis' || owner === 'crypto') return node.name.text
  return `${owner}.${node.name.text}`
}

/** A name used as a value: not a declaration, not a property's name, not a type. */
function isReadOfGlobal(node: ts.Node): node is ts.Identifier {
  if (!ts.isIdentifier(node)) return false
  const { parent } = node
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return true
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node
  if (ts.isVariableDeclaration(parent)) return parent.initializer === node
  return ts.isShorthandPropertyAssignment(parent) || ts.isReturnStatement(parent)
}

function isClockRead(node: ts.Node): boolean {
  if (!ts.isNewExpression(node) && !ts.isCallExpression(node)) return false
  if (node.expression.getText() !== 'Date') return false
  return ts.isCallExpression(node) || (node.arguments ?? []).length === 0
}
