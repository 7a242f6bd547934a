/** The files that a pull request changes. The simulator has no git: a test names them. */
export type FileStatus = 'added' | 'removed' | 'modified' | 'renamed'

/** As a test gives it. */
export interface NewPullFile {
  readonly filename: string
  /** `modified` if absent. */
  readonly status?: FileStatus
  /** The hunks of a unified diff, from the first `@@` on. Absent for a binary file. */
  readonly patch?: string
  /** For a renamed one. */
  readonly previousFilename?: string
}

export interface PullFile {
  readonly filename: string
  readonly status: FileStatus
  readonly patch: string | null
  readonly previousFilename: string | null
  readonly additions: number
  readonly deletions: number
}

export function pullFileOf(given: NewPullFile): PullFile {
  const { filename, status = 'modified', patch = null, previousFilename = null } = given
  const lines = patch?.split('\n') ?? []
  return {
    ...{ filename, status, patch, previousFilename },
    additions: lines.filter((line) => line.startsWith('+')).length,
    deletions: lines.filter((line) => line.startsWith('-')).length,
  }
}

/** A pull request without any change would be odd. */
export const defaultFiles = (number: number): readonly NewPullFile[] => [
  { filename: `change-${number}.txt`, status: 'added', patch: `@@ -0,0 +1 @@\n+Change ${number}` },
]
