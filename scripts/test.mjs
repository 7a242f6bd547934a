/**
 * `npm test`: sets up what is missing, PostgreSQL and Redis included, and runs the tests; `npm run
 * test:quick` runs those that need no server. Arguments go to Vitest. At the end come the slowest
 * files; the last line says how many tests passed and failed; the exit code is 0 only when
 * something ran and nothing failed.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, runChild } from './child.mjs'
import { setup } from './setup.mjs'
import { countTests, slowestFiles, summaryLine } from './test-counts.mjs'

const args = process.argv.slice(2)
const node = await setup()
const counts = (await hasServers()) ? await runTests() : { passed: 0, failed: 1, skipped: 0 }
console.log(summaryLine(counts))
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

async function hasServers() {
  if (args.includes('--project=quick')) return true
  for (const server of ['postgres', 'redis']) {
    const { code } = await runChild(node, [`test/${server}/install-binaries.ts`])
    if (code !== 0) return false
  }
  return true
}

async function runTests() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-report-'))
  const reportFile = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...args]
  try {
    const { code, interrupted } = await runChild(node, vitest)
    const report = readReport(reportFile)
    for (const line of slowestFiles(report, root)) console.log(line)
    return countTests(report, interrupted && code === 0 ? 1 : code)
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
