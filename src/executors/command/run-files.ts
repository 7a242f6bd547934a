/**
 * The files of one execution, in a private folder of its own: what the command reads (the run, and
 * the configuration of an MCP client with the run token) and where it may leave its summary and
 * its result.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SetupError } from '../../errors.ts'

export interface RunFilePaths {
  /** The run as JSON. */
  readonly input: string
  /** Markdown, written by the command or not. */
  readonly summary: string
  /** JSON, written by the command or not. */
  readonly result: string
  readonly mcpConfig: string
}

export interface RunFiles extends RunFilePaths {
  readonly folder: string
}

export interface RunFilesContent {
  /** The run as JSON text. */
  readonly input: string
  readonly mcpUrl: string
  readonly runToken: string
}

/** `parent` is where the folder is made. */
export async function makeRunFiles(
  { input, mcpUrl, runToken }: RunFilesContent,
  parent = tmpdir(),
): Promise<RunFiles> {
  let folder: string | null = null
  try {
    // The folder has mode 0700, so nobody else gets at what is in it.
    folder = await mkdtemp(join(parent, 'holdfast-run-'))
    const files = pathsIn(folder)
    await writeNew(files.input, input)
    await writeNew(files.mcpConfig, mcpConfig(mcpUrl, runToken))
    return { ...files, folder }
  } catch (error) {
    if (folder !== null) await removeRunFiles({ folder })
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    throw new SetupError(
      'run_files',
      `The files of a run cannot be written to ${parent} (${code})`,
      {
        hint: 'Check that it exists, has room and is writable, or set TMPDIR to another folder.',
        cause: error,
      },
    )
  }
}

function pathsIn(folder: string): RunFilePaths {
  return {
    input: join(folder, 'input.json'),
    summary: join(folder, 'summary.md'),
    result: join(folder, 'result.json'),
    mcpConfig: join(folder, 'mcp.json'),
  }
}

function writeNew(path: string, text: string): Promise<void> {
  return writeFile(path, text, { flag: 'wx', mode: 0o600 })
}

/** As MCP clients read it. */
function mcpConfig(url: string, runToken: string): string {
  const headers = { Authorization: `Bearer ${runToken}` }
  return JSON.stringify({ mcpServers: { holdfast: { type: 'http', url, headers } } })
}

/**
 * Answers whether everything is removed. A command may have left a folder in it that Holdfast may
 * not empty.
 */
export async function removeRunFiles({ folder }: Pick<RunFiles, 'folder'>): Promise<boolean> {
  try {
    await rm(folder, { recursive: true, force: true })
    return true
  } catch {
    return false
  }
}
