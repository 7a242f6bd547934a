/**
 * `npm run verify`: everything that must hold before a commit, one line per step, stopping at the
 * first that fails. `--no-tests` leaves out the tests, for whoever runs them apart.
 */
import { runChild } from './child.mjs'
import { setup } from './setup.mjs'

const node = await setup()
const steps = [
  ['format', ['node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.']],
  ['lint', ['node_modules/eslint/bin/eslint.js', '.']],
  ['types', ['node_modules/typescript/bin/tsc', '--noEmit']],
  ['build', ['scripts/build.mjs']],
]

for (const [name, args] of steps) {
  const began = performance.now()
  const { code, output, interrupted } = await runChild(node, args, { quiet: true })
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  if (code === 0 && !interrupted) continue
  console.log(output.trim())
  process.exit(code === 0 ? 1 : code)
}

if (!process.argv.includes('--no-tests')) {
  const { code } = await runChild(node, ['scripts/test.mjs'])
  process.exit(code)
}
