/**
 * Everything a fresh clone needs before it can run: the packages of the lock file, and Node 24,
 * which is one of them (scripts/node/package.json). Writes to stderr only, so that what follows has
 * stdout to itself. Plain JavaScript for Node 20, because that may be all there is.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runChild } from './child.mjs'

const oldestMajor = 24
const modules = join(root, 'node_modules')
const ownNode = join(modules, '.bin', 'node')

/**
 * @returns {Promise<string>} the path of a Node that can run the product.
 */
export async function setup() {
  if (!packagesAreCurrent(root)) await installPackages(root)
  if ((await majorOf(ownNode)) >= oldestMajor) return ownNode
  if ((await majorOf(process.execPath)) >= oldestMajor) return process.execPath
  fail(
    `Holdfast needs Node ${oldestMajor} or newer; ${ownNode} is missing or does not run, ` +
      `and this is Node ${process.versions.node}.\n` +
      `No package has one that runs on this ${process.platform}-${process.arch}. ` +
      'Install it from https://nodejs.org/download and run this again.',
  )
}

/** The other systems that the benchmarks measure. Nothing else needs them. */
export async function installPeers() {
  const folder = join(root, 'bench')
  if (!packagesAreCurrent(folder)) await installPackages(folder)
}

/**
 * The last thing that npm writes is a record of what it installed. So that record shows whether the
 * packages are current, also after somebody ran `npm install`.
 */
function packagesAreCurrent(folder) {
  const record = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return false
  const wanted = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages
  // The package of Node is optional for npm, because each platform has its own. We need it.
  if (Object.values(wanted).some(isOwnNode) && !existsSync(ownNode)) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true
    // A package for another platform is in the lock file, but not on this disk. That is right.
    const has = installed[path]
    if (has === undefined) return entry.optional === true
    return has.version === entry.version && has.integrity === entry.integrity
  })
}

function isOwnNode({ bin, os, cpu }) {
  return bin?.node !== undefined && os === process.platform && cpu === process.arch
}

async function installPackages(folder) {
  console.error(`installing packages (npm ci in ${folder})`)
  const wanted = ['--include=dev', '--include=optional', '--ignore-scripts']
  const args = ['ci', '--prefix', folder, ...wanted, '--no-audit', '--no-fund', '--loglevel=error']
  const { code, output, interrupted } = await runChild('npm', args, { quiet: true })
  if (interrupted) process.exit(code === 0 ? 1 : code)
  if (code !== 0) fail(`${output}\nnpm ci failed; the lines above say why.`)
}

async function majorOf(node) {
  if (!existsSync(node)) return 0
  try {
    const { code, output } = await runChild(node, ['--version'], { quiet: true })
    return code === 0 ? Number(/^v(\d+)/.exec(output)?.[1] ?? 0) : 0
  } catch {
    return 0
  }
}

/** @returns {never} */
export function fail(message) {
  console.error(message)
  process.exit(1)
}
