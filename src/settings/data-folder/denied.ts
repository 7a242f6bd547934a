/** What is said to a user who may not open the database, because another user owns it. */
import { options } from '../options/options.ts'

/** Whether the file or its folder belongs to another user. */
export function isDenied(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code
  return code === 'EACCES' || code === 'EPERM'
}

export function deniedWords(path: string): { readonly message: string; readonly hint: string } {
  return {
    message: `This user may not read the database ${path}, or not open its folder`,
    hint:
      'Run the command as the user that runs Holdfast, or ask its server: ' +
      `--url http://HOST:PORT. For another database, set ${options.databaseUrl.env}.`,
  }
}
