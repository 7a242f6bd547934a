/**
 * `npm test`: sets up what is missing, PostgreSQL included, and runs the tests. Arguments go to
 * Vitest. The last line says how many passed and failed; the exit code is 0 only when something ran
 * and nothing failed.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChild } from './child.mjs'
import { setup } from './setup.mjs'
import { countTests, summaryLine } from './test-counts.mjs'

const node = await setup()
const postgres = await runChild(node, ['test/postgres/install-binaries.ts'])
const counts = postgres.code === 0 ? await runTests() : { passed: 0, failed: 1, skipped: 0 }
console.log(summaryLine(counts))
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-report-'))
  const reportFile = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...process.argv.slice(2)]
  try {
    const { code, interrupted } = await runChild(node, args)
    return countTests(readReport(reportFile), interrupted && code === 0 ? 1 : code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}
