/** Why a command could not be started, with what to do. Names the program, no argument or value. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { StartFailure } from './guard/messages.ts'

const outOfResources = ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE']

export function startFailureText(
  { code, hasFolder }: StartFailure,
  { command, cwd }: { readonly command: readonly string[]; readonly cwd: string },
): string {
  const name = JSON.stringify(command[0] ?? '')
  const failed = `The command ${name} could not be started`
  if (!hasFolder) return `${failed}: there is no folder ${cwd}. Create it, or use another --config.`
  if (code === 'ENOENT') {
    return (
      `${failed}: ${name} was not found (folder ${cwd}). Check its name and the PATH of ` +
      'Holdfast. If it is a script, also check the program that its first line names.'
    )
  }
  if (code === 'EACCES' && isFolder(resolve(cwd, command[0] ?? ''))) {
    return `${failed}: ${name} is a folder (folder ${cwd}). Name a program.`
  }
  if (code === 'EACCES') {
    return `${failed}: ${name} is not executable (folder ${cwd}). Run chmod +x on it.`
  }
  if (code === 'E2BIG') {
    return `${failed}: its arguments and variables are too large. Pass large values in a file.`
  }
  if (outOfResources.includes(code)) {
    return (
      `${failed}: the machine has no room for another process (${code}). Lower the concurrency ` +
      'of the run types, or raise the limits of the machine.'
    )
  }
  if (code.startsWith('ERR_INVALID_ARG')) {
    return (
      `${failed}: the command, an argument or a variable is empty or contains a NUL character. ` +
      'Correct it in the configuration.'
    )
  }
  return `${failed} (${code}). Check that ${name} is a program that this machine can run.`
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

export function guardFailureText(code: string): string {
  return (
    `The process that guards commands could not be started (${code}). If Holdfast was upgraded ` +
    'while it ran, restart it. Otherwise check the limits of the machine on processes and memory.'
  )
}
