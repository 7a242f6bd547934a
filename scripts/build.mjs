/**
 * `npm run build`: makes dist/ from the sources, for the package that `npm pack` makes; a clone
 * needs none of it. What the sources read at run time is copied beside them. Plain JavaScript for
 * Node 20, because that may be what npm runs on.
 */
import { cpSync, existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root, runChild } from './child.mjs'
import { fail } from './setup.mjs'

const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
if (!existsSync(compiler)) fail('The compiler is not installed; run npm ci first.')

const dist = join(root, 'dist')
rmSync(dist, { recursive: true, force: true })
const { code } = await runChild(process.execPath, [compiler, '-p', 'tsconfig.build.json'])
if (code !== 0) {
  // A half-built dist/ must not be packed.
  rmSync(dist, { recursive: true, force: true })
  process.exit(code)
}
cpSync(join(root, 'src'), dist, {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts'),
})
