/**
 * Packs the package and installs it with npm in a project of its own, without the network and
 * without touching the clone: packing happens in a copy, and the project starts with copies of the
 * packages that the clone has. npm itself decides which of them the package may have: it fails when
 * one is missing that package.json asks for, and removes what nobody asked for.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const clone = fileURLToPath(new URL('../..', import.meta.url))

const run = promisify(execFile)

/**
 * The environment of a person's shell: this Node first, and nothing of the npm that runs the tests.
 */
export const shellEnv: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfTheRunner(name))),
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
}

function isOfTheRunner(name: string): boolean {
  return /^(npm_|vitest|node_env$|node_options$|holdfast_|path$)/i.test(name)
}

/** `folder` must be empty. Returns the path of the project in it. */
export async function installPackage(folder: string): Promise<string> {
  const project = join(folder, 'project')
  await mkdir(project)
  const manifest = { name: 'my-bot', private: true, type: 'module' }
  await writeFile(join(project, 'package.json'), JSON.stringify(manifest))
  const [tarball] = await Promise.all([
    pack(join(folder, 'clone'), folder),
    copyInstalledPackages(project),
  ])
  await npm(project, ['install', '--offline', '--no-audit', '--no-fund', tarball])
  return project
}

async function pack(copy: string, destination: string): Promise<string> {
  const left = ['.git', 'data', 'dist', 'node_modules']
  await mkdir(copy)
  for (const name of await readdir(clone)) {
    if (!left.includes(name)) await cp(join(clone, name), join(copy, name), { recursive: true })
  }
  // What an example leaves behind that was tried in the clone.
  for (const name of ['bot/data/admin-token', 'build-docs/site/start.html']) {
    const path = join(copy, 'examples', name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, 'left behind')
  }
  await symlink(join(clone, 'node_modules'), join(copy, 'node_modules'))
  await npm(copy, ['pack', '--pack-destination', destination])
  const tarball = (await readdir(destination)).find((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error('npm pack has made no package')
  return join(destination, tarball)
}

async function copyInstalledPackages(project: string): Promise<void> {
  const record = await readFile(join(clone, 'node_modules', '.package-lock.json'), 'utf8')
  const { packages } = JSON.parse(record) as { packages: Record<string, { dev?: boolean }> }
  for (const [path, { dev }] of Object.entries(packages)) {
    // A package inside another one was already copied with it.
    const nested = path.lastIndexOf('node_modules/') > 0
    if (dev === true || nested || !existsSync(join(clone, path))) continue
    await cp(join(clone, path), join(project, path), { recursive: true })
  }
}

async function npm(cwd: string, args: readonly string[]): Promise<void> {
  await run('npm', args, { cwd, env: shellEnv })
}
