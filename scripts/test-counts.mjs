/**
 * Makes the last lines from Vitest's JSON report: the slowest files, and how many tests passed.
 * What must hold: if Vitest failed, at least one test counts as failed, unless no test was found.
 */
import { relative } from 'node:path'

/**
 * @typedef {{ status: string }} Assertion
 * @typedef {{
 *   name: string,
 *   status: string,
 *   startTime: number,
 *   endTime: number,
 *   assertionResults: Assertion[],
 * }} FileResult
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 *
 * @param {{ testResults: FileResult[] } | null} report null when Vitest wrote none
 * @param {number} exitCode
 * @returns {Counts}
 */
export function countTests(report, exitCode) {
  if (report === null) return { passed: 0, failed: 1, skipped: 0 }
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const file of report.testResults) {
    for (const { status } of file.assertionResults) {
      if (status === 'passed') counts.passed++
      else if (status === 'failed') counts.failed++
      else counts.skipped++
    }
    if (failedAsAWhole(file)) counts.failed++
  }
  // An error outside every test, such as a rejection that nobody handled.
  const foundTests = report.testResults.length > 0
  if (exitCode !== 0 && foundTests && counts.failed === 0) counts.failed = 1
  return counts
}

/** The file did not load, or a hook around its tests failed. */
function failedAsAWhole(file) {
  return (
    file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed')
  )
}

/** @param {Counts} counts */
export function summaryLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

const slowMax = 10

/**
 * The files that took longest, so that whoever adds a slow one sees it.
 *
 * @param {{ testResults: FileResult[] } | null} report
 * @param {string} root the names are relative to this folder
 * @returns {string[]} lines
 */
export function slowestFiles(report, root) {
  const files = (report?.testResults ?? []).map(({ name, startTime, endTime }) => {
    return { name: relative(root, name), seconds: (endTime - startTime) / 1000 }
  })
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, slowMax)
  if (slowest.length < 2) return []
  return [
    `Slowest of ${files.length} files:`,
    ...slowest.map(({ name, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${name}`),
  ]
}
