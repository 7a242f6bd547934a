/**
 * `npm run verify`: everything that must hold before a commit. The checks run two at a time, the
 * longest first; each prints its line when it has ended, and the tests begin only if all passed.
 * `--no-tests` leaves out the tests, for people who run them separately.
 */
import { runChild } from './child.mjs'
import { setup } from './setup.mjs'

const node = await setup()
const checks = [
  ['lint', ['node_modules/eslint/bin/eslint.js', '.']],
  ['format', ['node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.']],
  ['types', ['node_modules/typescript/bin/tsc', '--noEmit']],
  ['build', ['scripts/build.mjs']],
]
let exitCode = 0

await Promise.all([checkInTurn(), checkInTurn()])
if (exitCode === 0 && !process.argv.includes('--no-tests')) {
  exitCode = (await runChild(node, ['scripts/test.mjs'])).code
}
process.exit(exitCode)

/** Takes the next check until none is left or one has failed. */
async function checkInTurn() {
  while (checks.length > 0 && exitCode === 0) {
    const [name, args] = checks.shift()
    const began = performance.now()
    const { code, output, interrupted } = await runChild(node, args, { quiet: true })
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
    if (code !== 0) console.log(output.trim())
    if (code !== 0 || interrupted) exitCode ||= code || 1
  }
}
